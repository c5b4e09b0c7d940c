#pragma once

#include "report/table.h"
#include "study/results/results.h"

namespace lockstep {

enum class Verdict { holds, differs, not_run };
template <>
inline constexpr auto enum_texts<Verdict> = std::array{"holds", "differs", "not run"};

// A claim of a study's document, tested on our results.
struct TestedClaim {
  const Claim* claim = nullptr;
  Verdict verdict = Verdict::not_run;
  RunKind kind = RunKind::measured;  // the less reliable of its points
  bool other_settings = false;       // runs of a quick form, or changed ones
  std::string ours;                  // our value
  std::string expected;              // the bounds, in words

  std::string verdict_text() const;  // with what makes it less reliable
};

std::vector<TestedClaim> test_claims(const StudyResults& results);

// One row per claim of all studies.
Table claims_table(const std::vector<StudyResults>& studies);
// Writes them as claims.md, .csv, .tex and .json.
void write_claims(const std::vector<StudyResults>& studies, const fs::path& folder);
std::string claims_json(const std::vector<StudyResults>& studies);

}  // namespace lockstep
