#pragma once

#include "study/columns.h"
#include "study/results.h"

namespace lockstep {

// What the points of a study are compared with, and whether they can be: the words for it.

// A column's title; of derived ones with their base: "speed-up over 1 rank".
std::string title_of(const ColumnKind& column, const StudyResults& results);

// Whether every point has its own number of what grows, and they differ.
bool has_scale(const StudyResults& results);

// The curve a point belongs to: what it sets beside what grows. "" where all are of one curve.
std::string curve_of(const StudyResults& results, const StudyPoint& point);

// "Strong scaling" only where the global batch is the same along each curve, "Weak scaling" only
// where the batch per rank is; otherwise "Scaling" and a note that says what changes.
struct ScalingTitle {
  std::string title, note;
};
ScalingTitle scaling_title(const StudyResults& results);

// The figures published for a point, where its runs have the settings of the published ones.
const PublishedPoint* published_of(const StudyResults& results, const StudyPoint& point);

// Says which settings keep published figures out of the table; "" where none are kept out.
std::string note_on_published(const StudyResults& results);

}  // namespace lockstep
