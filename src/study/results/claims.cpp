#include "study/results/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/numbers.h"
#include "study/results/columns.h"
#include "study/results/comparison.h"

namespace lockstep {
namespace {

const PointResult* point_named(const StudyResults& results, const std::string& label) {
  const auto found =
      std::ranges::find(results.points, label, [](const PointResult& p) { return p.point.label; });
  return found == results.points.end() ? nullptr : &*found;
}

std::optional<double> value_of(const PointResult* point, const std::string& column) {
  if (!point) return std::nullopt;
  const auto found = point->values.find(column);
  return found == point->values.end() ? std::nullopt : std::optional(found->second.median);
}

std::string expectation(const Claim& claim) {
  const ColumnKind column = column_named(claim.column);
  const auto bound = [&](double value) {
    return claim.against.empty() ? value_text(value, column) : fmt::format("{:.4g}", value);
  };
  std::string text;
  if (claim.at_least) text = "at least " + bound(*claim.at_least);
  if (claim.at_most) text += (text.empty() ? "at most " : ", at most ") + bound(*claim.at_most);
  if (!claim.against.empty()) text += fmt::format(" × that of '{}'", claim.against);
  return fmt::format("{} of '{}' {}", column.title, claim.point, text);
}

TestedClaim tested(const StudyResults& results, const Claim& claim) {
  TestedClaim test{.claim = &claim, .expected = expectation(claim)};
  const ColumnKind column = column_named(claim.column);
  const PointResult* point = point_named(results, claim.point);
  const auto value = value_of(point, claim.column);
  if (!value) return test;
  test.kind = point->kind();
  test.other_settings = !point->point.differs.empty();
  double tested = *value;
  test.ours = value_text(*value, column);
  if (!claim.against.empty()) {
    const PointResult* other = point_named(results, claim.against);
    const auto base = value_of(other, claim.column);
    if (!base || *base == 0) return test;
    test.kind = std::max(test.kind, other->kind());
    tested = *value / *base;
    test.ours = fmt::format("{:.3g} × ({} / {})", tested, test.ours, value_text(*base, column));
  }
  const bool holds = (!claim.at_least || tested >= *claim.at_least) &&
                     (!claim.at_most || tested <= *claim.at_most);
  test.verdict = holds ? Verdict::holds : Verdict::differs;
  return test;
}

}  // namespace

std::string TestedClaim::verdict_text() const {
  std::string text = to_text(verdict), less_reliable;
  if (verdict == Verdict::not_run) return text;
  if (kind != RunKind::measured) less_reliable = kind_name(kind);
  if (other_settings)
    less_reliable += less_reliable.empty() ? "other settings" : ", other settings";
  return less_reliable.empty() ? text : fmt::format("{} ({})", text, less_reliable);
}

std::vector<TestedClaim> test_claims(const StudyResults& results) {
  std::vector<TestedClaim> all;
  for (const Claim& claim : results.study.claims) all.push_back(tested(results, claim));
  return all;
}

Table claims_table(const std::vector<StudyResults>& studies) {
  Table table{.caption = "Claims of the documents",
              .head = {"study", "claim", "of", "verdict", "published", "ours", "why"},
              .rows = {},
              .note = "A claim is tested with the bound that its study's file states."};
  for (const StudyResults& results : studies)
    for (const TestedClaim& test : test_claims(results)) {
      std::string why;
      if (test.verdict == Verdict::differs) why = test.claim->why;
      if (why.empty() && test.verdict == Verdict::differs && test.other_settings)
        why = "not the document's settings";
      table.rows.push_back({results.study.name, test.claim->text,
                            test.claim->ours ? "Lockstep" : "the document", test.verdict_text(),
                            test.claim->published, test.ours, why});
    }
  const bool quick = std::ranges::any_of(
      studies, [](const StudyResults& r) { return !note_on_published(r).empty(); });
  if (quick) table.note += " Other settings than the document's: see the tables of the studies.";
  return table;
}

std::string claims_json(const std::vector<StudyResults>& studies) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const StudyResults& results : studies)
    for (const TestedClaim& test : test_claims(results))
      all.push_back({{"study", results.study.name},
                     {"claim", test.claim->text},
                     {"of", test.claim->ours ? "Lockstep" : "the document"},
                     {"published", test.claim->published},
                     {"expected", test.expected},
                     {"ours", test.ours},
                     {"verdict", to_text(test.verdict)},
                     {"kind", kind_name(test.kind)},
                     {"other_settings", test.other_settings},
                     {"why", test.claim->why}});
  return all.dump(2) + "\n";
}

void write_claims(const std::vector<StudyResults>& studies, const fs::path& folder) {
  const Table claims = claims_table(studies);
  write_file(folder / "claims.md", to_markdown(claims));
  write_file(folder / "claims.csv", to_csv(claims));
  write_file(folder / "claims.tex", to_latex(claims));
  write_file(folder / "claims.json", claims_json(studies));
}

}  // namespace lockstep
