#include "study/results/claims.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/data_testing.h"
#include "study/output/artifact.h"

namespace lockstep {
namespace {

const std::string head =
    "name = \"s\"\nconfig = \"iris-mlp\"\ncolumns = [\"test_accuracy\"]\n"
    "[grid]\nparallel.ranks = [1, 2]\n";

std::string claim(const std::string& rest) {
  return head +
         "[[claims]]\ntext = \"two are faster\"\ncolumn = \"total_seconds\"\n"
         "point = \"ranks=2\"\n" +
         rest;
}

StudyResults results_of(const std::string& text, double one, double two,
                        RunKind kind = RunKind::measured) {
  StudyResults results{.study = parse_study(text, "s.toml", false), .data = {}, .points = {}};
  for (const StudyPoint& point : results.study.points) {
    const double seconds = point.label == "ranks=1" ? one : two;
    if (seconds == 0) {
      results.points.push_back({.point = point});
      continue;
    }
    RunRecord run;
    run.kind = kind;
    results.points.push_back({.point = point,
                              .values = {{"total_seconds", {seconds, seconds, seconds, 1}}},
                              .runs = {run}});
  }
  return results;
}

TEST(Claims, AreTestedAgainstAnotherPoint) {
  const std::string text = claim("against = \"ranks=1\"\nat_most = 0.5\nwhy = \"because\"\n");
  const StudyResults fast = results_of(text, 10, 4), slow = results_of(text, 10, 6);
  EXPECT_EQ(test_claims(fast)[0].verdict, Verdict::holds);
  EXPECT_EQ(test_claims(slow)[0].verdict, Verdict::differs);
  EXPECT_EQ(test_claims(fast)[0].ours, "0.4 × (4.000 / 10.00)");
  EXPECT_EQ(claims_table({fast}).rows[0].back(), "");
  EXPECT_EQ(claims_table({slow}).rows[0].back(), "because");
}

TEST(Claims, AreTestedAsValues) {
  const std::string text = claim("at_least = 3\nat_most = 5\n");
  for (const auto& [seconds, verdict] : {std::pair(2.9, Verdict::differs),
                                         {3.0, Verdict::holds},
                                         {5.0, Verdict::holds},
                                         {5.1, Verdict::differs}})
    EXPECT_EQ(test_claims(results_of(text, 1, seconds))[0].verdict, verdict) << seconds;
  EXPECT_EQ(test_claims(results_of(text, 1, 4))[0].expected,
            "total s of 'ranks=2' at least 3.000, at most 5.000");
}

TEST(Claims, AboutPointsWithoutResultsAreNotRun) {
  const std::string text = claim("against = \"ranks=1\"\nat_most = 0.5\n");
  EXPECT_EQ(test_claims(results_of(text, 10, 0))[0].verdict_text(), "not run");
  EXPECT_EQ(test_claims(results_of(text, 0, 10))[0].verdict_text(), "not run");
}

TEST(Claims, SayWhatMakesThemLessReliable) {
  const std::string text = claim("at_most = 5\n");
  EXPECT_EQ(test_claims(results_of(text, 1, 4, RunKind::simulated))[0].verdict_text(),
            "holds (simulated)");
  StudyResults changed = results_of(text, 1, 6);
  for (PointResult& point : changed.points) point.point.differs = {"train.epochs=1"};
  EXPECT_EQ(test_claims(changed)[0].verdict_text(), "differs (other settings)");
}

TEST(Claims, OfStudyFilesAreChecked) {
  const auto error = [](const std::string& rest) {
    return error_of<UserError>([&] { parse_study(claim(rest), "s.toml", false); });
  };
  expect_says(error("at_most = 1\nagainst = \"ranks=3\"\n"),
              {"s.toml line 7", "'ranks=3'", "ranks=1"});
  expect_says(error(""), {"s.toml line 7", "at_least"});
  expect_says(error("at_least = 2\nat_most = 1\n"), {"s.toml line 7", "at_least = 2"});
  expect_says(error("at_most = \"x\"\n"), {"s.toml line 10", "at_most is text"});
  expect_says(error("at_mots = 1\n"), {"s.toml line 10", "'at_most'"});
  expect_says(error_of<UserError>([&] {
                parse_study(head + "[[claims]]\ntext = \"x\"\nat_most = 1\n", "s.toml", false);
              }),
              {"'column' is missing"});
}

class Artifacts : public InFolder {};

TEST_F(Artifacts, DescribeHowTheirResultsWereMade) {
  write_file(folder() / "table.csv", "a,b\n");
  make_folder(folder() / "points" / "ranks=1" / "run-0");
  write_file(folder() / "points" / "ranks=1" / "run-0" / "summary.json", "{}");
  const StudyResults results = results_of(claim("at_most = 5\n"), 1, 4);
  write_artifact_description({results}, folder(), "A title", "lockstep study s --quick");
  expect_says(read_text(folder() / "README.md"),
              {"# A title", "lockstep study s --quick", "| s | two are faster |", "| holds |",
               "at most 5.000"});
  const auto crate = nlohmann::json::parse(read_text(folder() / "ro-crate-metadata.json"));
  EXPECT_EQ(crate["@context"], "https://w3id.org/ro/crate/1.1/context");
  std::vector<std::string> ids;
  for (const auto& entity : crate["@graph"]) ids.push_back(entity["@id"]);
  EXPECT_EQ(ids, (std::vector<std::string>{"ro-crate-metadata.json", "./", "#making", "#lockstep",
                                           "README.md", "table.csv"}));
  EXPECT_EQ(crate["@graph"][1]["hasPart"].size(), 2u);
}

}  // namespace
}  // namespace lockstep
