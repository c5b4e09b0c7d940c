#pragma once

#include "study/results/columns.h"
#include "study/results/results.h"

namespace lockstep {

// Texts that say what the points of a study are compared with, and whether they are comparable.

// A column's title; derived columns name their baseline: "speed-up over 1 rank".
std::string title_of(const ColumnKind& column, const StudyResults& results);

// Whether every point has a value of the study's scale, and the values differ.
bool has_scale(const StudyResults& results);

// The curve of a point over the values of a key, named by the settings that differ between the
// selected points. "": they form one curve.
std::string curve_of(const StudyResults& results, const StudyPoint& point, const std::string& x,
                     const Selection& where = {});

// "Strong scaling" only if the global batch is the same along each curve, "Weak scaling" only if
// the batch per rank is; otherwise "Scaling" and a note that says what changes.
struct ScalingTitle {
  std::string title, note;
};
ScalingTitle scaling_title(const StudyResults& results);

// The published values of a point; null if there are none or its runs have other settings.
const PublishedPoint* published_of(const StudyResults& results, const StudyPoint& point);

// Says which settings keep published values out of the table; "": none do.
std::string note_on_published(const StudyResults& results);

}  // namespace lockstep
