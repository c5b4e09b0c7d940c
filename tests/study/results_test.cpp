// Results: medians and spreads of runs, and what is derived from their times.

#include "study/results.h"

#include <fmt/format.h>

#include "data/data_testing.h"
#include "study/tables.h"

namespace lockstep {
namespace {

TEST(Spread, IsQuartilesOrABootstrapInterval) {
  const Spread s = spread_of({5, 1, 2, 4, 3}, "iqr");
  EXPECT_EQ(s.median, 3);
  EXPECT_EQ(s.low, 2);
  EXPECT_EQ(s.high, 4);
  const Spread b = spread_of({5, 1, 2, 4, 3}, "bootstrap");
  EXPECT_EQ(b.median, 3);
  EXPECT_GE(b.low, 1);
  EXPECT_LE(b.high, 5);
  EXPECT_LT(b.low, b.high);
  EXPECT_EQ(spread_of({7}, "bootstrap").low, 7);
}

TEST(Figures, OfASummaryAreNumbersInsideOrMediansOfLists) {
  const std::string json = R"({"a": 2, "b": {"c": 0.5}, "d": [3, 1, 2], "e": null, "f": "x"})";
  EXPECT_EQ(figure_of(json, "a"), 2);
  EXPECT_EQ(figure_of(json, "b.c"), 0.5);
  EXPECT_EQ(figure_of(json, "d"), 2);
  for (const char* none : {"e", "f", "g", "b.x", "a.b"})
    EXPECT_FALSE(figure_of(json, none)) << none;
  EXPECT_FALSE(figure_of("{", "a"));
}

class Results : public InFolder {
 protected:
  Study study_ = parse_study(
      "name = \"t\"\ntitle = \"A | B & C_d\"\nconfig = \"iris-mlp\"\nrepeats = 2\n"
      "columns = [\"test_accuracy\", \"total_seconds\", \"speed_up\", \"efficiency\", "
      "\"improvement\", \"gain\", \"karp_flatt\"]\n[grid]\nparallel.ranks = [1, 2, 4]\n"
      "[[published]]\nlabel = \"ranks=1\"\ntotal_seconds = 100\n",
      "t.toml", false);

  void run(const std::string& label, int repeat, double seconds, bool oversubscribed = false) {
    write(fmt::format("points/{}/run-{}/summary.json", label, repeat),
          fmt::format(R"({{"total_seconds": {}, "test_accuracy": 0.5, "data": "d",
                          "parallel": {{"oversubscribed": {}}}}})",
                      seconds, oversubscribed));
  }
};

TEST_F(Results, DeriveWhatStudiesAskFor) {
  run("ranks=1", 0, 10);
  run("ranks=1", 1, 10);
  run("ranks=2", 0, 5.5);
  run("ranks=2", 1, 6.5);
  run("ranks=4", 0, 4, true);
  run("ranks=4", 1, 4, true);
  const StudyResults r = collect_results(study_, folder());
  const auto& two = r.points[1].values;
  EXPECT_NEAR(two.at("speed_up").median, 10 / 6.0, 1e-12);
  EXPECT_NEAR(two.at("efficiency").median, 10 / 12.0, 1e-12);
  EXPECT_NEAR(two.at("improvement").median, 40, 1e-12);
  EXPECT_NEAR(two.at("gain").median, 40, 1e-12);
  EXPECT_NEAR(two.at("karp_flatt").median, (0.6 - 0.5) / 0.5, 1e-12);
  EXPECT_LT(two.at("speed_up").low, two.at("speed_up").high);
  EXPECT_FALSE(r.points[0].values.contains("karp_flatt"));
  EXPECT_EQ(r.points[1].mark, Mark::measured);
  EXPECT_EQ(r.points[2].mark, Mark::oversubscribed);
}

TEST_F(Results, OfWeakScalingCountTheWorkThatGrows) {
  study_.more_is = "weak";
  run("ranks=1", 0, 10);
  run("ranks=4", 0, 12.5);
  const StudyResults r = collect_results(study_, folder());
  EXPECT_NEAR(r.points[2].values.at("efficiency").median, 0.8, 1e-12);
  EXPECT_NEAR(r.points[2].values.at("speed_up").median, 3.2, 1e-12);
}

TEST_F(Results, NameWhatFailedOrIsDamaged) {
  run("ranks=1", 0, 10);
  write("points/ranks=2/run-0/failed.txt", "no such core");
  write("points/ranks=4/run-0/summary.json", "{\"total");
  const StudyResults r = collect_results(study_, folder());
  EXPECT_EQ(r.points[1].failures, std::vector<std::string>{"no such core"});
  ASSERT_EQ(r.points[2].failures.size(), 1u);
  expect_says(results_table(r).note, {"ranks=2: no such core", "is damaged"});
  EXPECT_EQ(results_table(r).rows[1][1], "failed");
}

TEST_F(Results, BecomeTablesForPapersAndFigures) {
  run("ranks=1", 0, 10);
  run("ranks=2", 0, 6);
  write_results(collect_results(study_, folder()), folder());
  expect_says(read_text(folder() / "table.md"), {"| ranks=1 |", "published total s", "50.00%"});
  expect_says(read_text(folder() / "table.tex"),
              {"\\toprule", "A | B \\& C\\_d", "50.00\\%", "\\bottomrule"});
  expect_says(read_text(folder() / "table.csv"), {"point,kind,test accuracy", "ranks=2,"});
  expect_says(read_text(folder() / "results.json"), {"\"median\": 10.0", "\"published\""});
  expect_says(read_text(folder() / "speed-up.svg"), {"<svg", "</svg>"});
  const Content png = read_bytes(folder() / "time.png");
  EXPECT_EQ(std::string(png.begin() + 1, png.begin() + 4), "PNG");
}

}  // namespace
}  // namespace lockstep
