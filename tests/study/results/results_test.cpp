// Results: medians and spreads of runs, and values derived from their times.

#include "study/results/results.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "data/data_testing.h"
#include "study/output/figures.h"
#include "study/output/tables.h"

namespace lockstep {
namespace {

TEST(Spread, IsQuartilesOrABootstrapInterval) {
  const Spread s = spread_of({5, 1, 2, 4, 3}, Interval::iqr);
  EXPECT_EQ(s.median, 3);
  EXPECT_EQ(s.low, 2);
  EXPECT_EQ(s.high, 4);
  const Spread b = spread_of({5, 1, 2, 4, 3}, Interval::bootstrap);
  EXPECT_EQ(b.median, 3);
  EXPECT_GE(b.low, 1);
  EXPECT_LE(b.high, 5);
  EXPECT_LT(b.low, b.high);
  EXPECT_EQ(spread_of({7}, Interval::bootstrap).low, 7);
}

TEST(Spread, OfAnEvenCountHasTheMeanOfTheMiddleTwoAsMedian) {
  EXPECT_DOUBLE_EQ(spread_of({21.1, 9.9}, Interval::iqr).median, 15.5);
  EXPECT_DOUBLE_EQ(spread_of({21.1, 9.9}, Interval::bootstrap).median, 15.5);
}

TEST(Figures, AreNumbersOfTheSummaryOrMediansOfLists) {
  const auto json = nlohmann::ordered_json::parse(
      R"({"a": 2, "b": {"c": 0.5}, "d": [3, 1, 2], "e": null, "f": "x", "g": [1, 2], "h": []})");
  EXPECT_EQ(figure_of(json, "a"), 2);
  EXPECT_EQ(figure_of(json, "b.c"), 0.5);
  EXPECT_EQ(figure_of(json, "d"), 2);
  EXPECT_EQ(figure_of(json, "g"), 1.5);
  for (const char* none : {"e", "f", "x", "b.x", "a.b", "h"})
    EXPECT_FALSE(figure_of(json, none)) << none;
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
  // A run on `ranks` ranks with a batch of 64, per rank or global.
  void run_of(int ranks, const std::string& batch_counts, bool simulated = false) {
    const std::string run = fmt::format("points/ranks={}/run-0", ranks);
    const std::string parallel = fmt::format(R"(, "parallel": {{"ranks": {}}})", ranks);
    write(run + "/summary.json", fmt::format(R"({{"total_seconds": {}, "simulated": {}{}}})",
                                             10.0 / ranks, simulated, ranks > 1 ? parallel : ""));
    write(run + "/config.toml",
          "[train]\nbatch = 64\n[optimizer]\nlr = 0.001\n[parallel]\nbatch = \"" + batch_counts +
              "\"\n");
  }
  Figure scaling() {
    for (const auto& [name, figure] : results_figures(collect_results(study_, folder())))
      if (name == "speed-up") return figure;
    return {};
  }
  Table table() { return results_table(collect_results(study_, folder())); }
  std::string markdown() { return to_markdown(table()); }
};

TEST_F(Results, DeriveSpeedUpEfficiencyImprovementAndGain) {
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
  EXPECT_NEAR(two.at("gain").median, 100 * 10 / 6.0, 1e-12);
  EXPECT_NEAR(two.at("karp_flatt").median, (0.6 - 0.5) / 0.5, 1e-12);
  EXPECT_LT(two.at("speed_up").low, two.at("speed_up").high);
  EXPECT_FALSE(r.points[0].values.contains("karp_flatt"));
  EXPECT_EQ(r.points[1].kind(), RunKind::measured);
  EXPECT_EQ(r.points[2].kind(), RunKind::oversubscribed);
}

TEST_F(Results, DrawPublishedValuesNextToOurs) {
  run("ranks=1", 0, 10);
  run("ranks=2", 0, 6);
  study_.published.push_back(
      {.label = "one GPU", .reference = true, .values = {{"total_seconds", {47.42, "47.42"}}}});
  const StudyResults r = collect_results(study_, folder());
  const auto figures = results_figures(r);
  const Figure& time = figures[0].second;
  ASSERT_EQ(time.series.size(), 3u);
  EXPECT_FALSE(time.series[0].published);
  EXPECT_TRUE(time.series[1].published);
  EXPECT_EQ(time.series[1].name, "published");
  EXPECT_EQ(time.series[1].points.size(), 1u);
  EXPECT_EQ(time.series[1].points[0].y, 100);
  EXPECT_EQ(time.series[2].name, "one GPU, published");  // has no x: a level
  EXPECT_TRUE(time.series[2].published);
  ASSERT_EQ(time.series[2].points.size(), 2u);
  EXPECT_EQ(time.series[2].points[0].y, 47.42);
  EXPECT_EQ(time.series[2].points[1].x, 2);
  EXPECT_FALSE(time.logarithmic);  // 6 to 100
  EXPECT_FALSE(figures.back().second.from_zero);
  const Table made = results_table(r);
  EXPECT_EQ(made.rows.back()[0], "one GPU");
  EXPECT_EQ(made.rows.back()[1], "published");
  expect_says(to_markdown(made), {"47.42"});
  for (const auto& row : made.rows) EXPECT_EQ(row.size(), made.head.size());
}

TEST_F(Results, DrawTheFiguresOfTheStudysFile) {
  study_ = parse_study(
      "config = \"iris-mlp\"\nsimulate_on = \"1gbe-4x8\"\nsimulate = \"missing\"\n"
      "columns = [\"total_seconds\"]\n"
      "[[points]]\nlabel = \"1x2\"\nnodes = 1\nparallel.ranks = 2\n"
      "[[points]]\nlabel = \"2x1\"\nnodes = 2\nparallel.ranks = 2\n"
      "[[points]]\nlabel = \"1x4\"\nnodes = 1\nparallel.ranks = 4\n"
      "[[figures]]\nname = \"times\"\ntitle = \"Times\"\nx = \"parallel.ranks\"\n"
      "columns = [\"total_seconds\", \"epoch_seconds\"]\nideal = \"flat\"\n",
      "t.toml", false);
  run("1x2", 0, 5);
  run("2x1", 0, 9);
  run("1x4", 0, 300);
  const auto figures = results_figures(collect_results(study_, folder()));
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].first, "times");
  const Figure& figure = figures[0].second;
  EXPECT_TRUE(figure.logarithmic);
  // Points of the same ranks are not joined.
  ASSERT_EQ(figure.series.size(), 2u);
  EXPECT_EQ(figure.series[0].name, "total s, nodes=1");
  EXPECT_EQ(figure.series[0].points.size(), 2u);
  EXPECT_EQ(figure.series[1].name, "total s, nodes=2");
  const Table made = results_table(collect_results(study_, folder()));
  EXPECT_EQ(made.head[2], "nodes");
  EXPECT_EQ(made.rows[1][2], "2");
  EXPECT_EQ(made.rows[1][3], "1");
}

TEST_F(Results, DrawCurvesOfRuns) {
  const std::string file =
      "config = \"iris-mlp\"\n[grid]\nparallel.ranks = [1, 2]\n"
      "[[figures]]\nname = \"loss\"\ntitle = \"eval/loss\"\ncurve = \"eval_loss\"\n"
      "published = [\"35 = 0.82\"]\n"
      "[[figures]]\nname = \"steps\"\ntitle = \"steps\"\ncurve = \"global_step\"\n"
      "[quick]\nset.train.epochs = 1\n";
  study_ = parse_study(file, "t.toml", false);
  run("ranks=1", 0, 5);
  write("points/ranks=1/run-0/metrics.jsonl",
        "{\"train/global_step\": 10, \"eval/loss\": 2.5}\n"
        "{\"train/global_step\": 20, \"train/epoch\": 0.5, \"eval/loss\": 1.5}\n");
  const auto figures = results_figures(collect_results(study_, folder()));
  ASSERT_EQ(figures.size(), 2u);
  const Figure& loss = figures[0].second;
  EXPECT_EQ(loss.x_label, "step");
  ASSERT_EQ(loss.series.size(), 2u);
  EXPECT_EQ(loss.series[0].name, "ranks=1");
  ASSERT_EQ(loss.series[0].points.size(), 2u);
  EXPECT_EQ(loss.series[0].points[1].x, 20);
  EXPECT_EQ(loss.series[0].points[1].y, 1.5);
  EXPECT_TRUE(loss.series[1].published);
  EXPECT_EQ(loss.series[1].points[0].y, 0.82);
  EXPECT_EQ(figures[1].second.x_label, "epoch");
  // Published points are of other settings than those of the quick form.
  study_ = parse_study(file, "t.toml", true);
  EXPECT_EQ(results_figures(collect_results(study_, folder()))[0].second.series.size(), 1u);
}

TEST_F(Results, NamePointsOfASeriesByIt) {
  study_ = parse_study(
      "config = \"iris-mlp\"\ncolumns = [\"total_seconds\"]\n"
      "[[points]]\nlabel = \"1x2\"\nseries = \"Downpour\"\nparallel.ranks = 2\n"
      "[[points]]\nlabel = \"1x4\"\nseries = \"Downpour\"\nparallel.ranks = 4\ntrain.batch = 8\n"
      "[[figures]]\nname = \"times\"\ntitle = \"Times\"\nx = \"parallel.ranks\"\n"
      "columns = [\"total_seconds\"]\n",
      "t.toml", false);
  run("1x2", 0, 5);
  run("1x4", 0, 3);
  const auto figures = results_figures(collect_results(study_, folder()));
  ASSERT_EQ(figures[0].second.series.size(), 1u);
  EXPECT_EQ(figures[0].second.series[0].name, "Downpour");
  EXPECT_EQ(figures[0].second.series[0].points.size(), 2u);
}

TEST_F(Results, HaveTheColumnsOfGridsAndFiguresToo) {
  study_ = parse_study(
      "config = \"iris-mlp\"\ncolumns = [\"total_seconds\"]\n[grid]\nparallel.ranks = [1, 2]\n"
      "[[grids]]\nname = \"g\"\ntitle = \"G\"\nrows = \"parallel.ranks\"\n"
      "columns = \"parallel.ranks\"\nvalue = \"test_accuracy\"\n",
      "t.toml", false);
  run("ranks=1", 0, 5);
  const StudyResults r = collect_results(study_, folder());
  EXPECT_TRUE(r.points[0].values.contains("test_accuracy"));
  EXPECT_EQ(results_grids(r)[0].second.rows[0][1].find("["), std::string::npos);
}

TEST_F(Results, MakeGrids) {
  study_ = parse_study(
      "config = \"iris-mlp\"\ncolumns = [\"test_accuracy\"]\n"
      "[grid]\ncrossval.folds = [2, 5]\nparallel.ranks = [1, 2]\n"
      "[[grids]]\nname = \"k\"\ntitle = \"K\"\nrows = \"crossval.folds\"\n"
      "columns = \"parallel.ranks\"\nvalue = \"test_accuracy\"\n",
      "t.toml", false);
  run("folds=2, ranks=1", 0, 5);
  run("folds=5, ranks=2", 0, 5, true);
  const auto grids = results_grids(collect_results(study_, folder()));
  ASSERT_EQ(grids.size(), 1u);
  expect_says(to_markdown(grids[0].second), {"| folds \\ ranks | 1 | 2 |", "| 2 | 50.00% |  |",
                                             "| 5 |  | 50.00% (oversubscribed) |"});
}

TEST_F(Results, OfWeakScalingCountTheGrowingWork) {
  study_.more_is = Scaling::weak;
  run("ranks=1", 0, 10);
  run("ranks=4", 0, 12.5);
  const StudyResults r = collect_results(study_, folder());
  EXPECT_NEAR(r.points[2].values.at("efficiency").median, 0.8, 1e-12);
  EXPECT_NEAR(r.points[2].values.at("speed_up").median, 3.2, 1e-12);
}

TEST_F(Results, NameFailedAndDamagedRuns) {
  run("ranks=1", 0, 10);
  write("points/ranks=2/run-0/failed.txt", "no such core");
  write("points/ranks=4/run-0/summary.json", "{\"total");
  const StudyResults r = collect_results(study_, folder());
  EXPECT_EQ(r.points[1].failures, std::vector<std::string>{"no such core"});
  ASSERT_EQ(r.points[2].failures.size(), 1u);
  expect_says(results_table(r).note, {"ranks=2: no such core", "is damaged"});
  EXPECT_EQ(results_table(r).rows[1][1], "failed");
}

TEST_F(Results, OfParallelRunsShowBatchesAndLearningRate) {
  for (const int ranks : {1, 2, 4}) run_of(ranks, "per-rank");
  expect_says(markdown(),
              {"| point | kind | ranks | batch per rank | global batch | learning rate |",
               "| ranks=1 | measured | 1 | 64 | 64 | 0.001 |",
               "| ranks=4 | measured | 4 | 64 | 256 | 0.001 |"});
}

TEST_F(Results, AreStrongScalingOnlyWithOneGlobalBatch) {
  for (const int ranks : {1, 2, 4}) run_of(ranks, "global");
  EXPECT_EQ(scaling().title, "Strong scaling");
  EXPECT_EQ(scaling().note, "");
  for (const int ranks : {1, 2, 4}) run_of(ranks, "per-rank");
  EXPECT_EQ(scaling().title, "Scaling");
  expect_says(scaling().note, {"the global batch goes from 64 to 256"});
}

TEST_F(Results, AreWeakScalingOnlyWithOneBatchPerRank) {
  study_.more_is = Scaling::weak;
  for (const int ranks : {1, 2, 4}) run_of(ranks, "per-rank");
  EXPECT_EQ(scaling().title, "Weak scaling");
  for (const int ranks : {1, 2, 4}) run_of(ranks, "global");
  EXPECT_EQ(scaling().title, "Scaling");
  expect_says(scaling().note, {"the batch per rank goes from 16 to 64"});
}

TEST_F(Results, OfUnknownBatchesAreTitledScaling) {
  for (const int ranks : {1, 2, 4}) run_of(ranks, "global");
  fs::remove(folder() / "points/ranks=1/run-0/config.toml");
  EXPECT_EQ(scaling().title, "Scaling");
  expect_says(scaling().note, {"not known"});
}

TEST_F(Results, NameTheBaselineOfDerivedColumns) {
  for (const int ranks : {1, 2, 4}) run_of(ranks, "global");
  expect_says(markdown(), {"| speed-up over 1 rank |", "| efficiency against 1 rank |",
                           "| PI % against 1 rank |", "| gain % against the slowest |",
                           "| Karp-Flatt against 1 rank |", "The slowest point is 'ranks=1'."});
  EXPECT_EQ(scaling().y_label, "speed-up over 1 rank");
  expect_says(results_json(collect_results(study_, folder())), {"\"base\": \"ranks=1\""});
  // Without the run on one rank, the run on two ranks is the baseline.
  fs::remove_all(folder() / "points/ranks=1");
  EXPECT_EQ(scaling().y_label, "speed-up over 2 ranks");
  EXPECT_EQ(scaling().series.back().points.back().y, 2) << "ideal, from 2 to 4 ranks";
  run_of(1, "global", true);
  EXPECT_EQ(scaling().y_label, "speed-up over 1 rank (simulated)");
}

TEST_F(Results, OfZeroTimesHaveNoSpeedUp) {
  run("ranks=1", 0, 0);
  run("ranks=2", 0, 5);
  const StudyResults r = collect_results(study_, folder());
  EXPECT_FALSE(r.points[1].values.contains("speed_up"));
  write_results(r, folder());
}

TEST_F(Results, LabelSimulatedPointsInTablesAndFigures) {
  for (const int ranks : {1, 2, 4}) run_of(ranks, "global", ranks == 4);
  EXPECT_EQ(table().rows[2][1], "simulated");
  EXPECT_EQ(scaling().y_label, "speed-up over 1 rank (measured)");
  EXPECT_EQ(scaling().series[0].points[2].kind, RunKind::simulated);
  expect_says(results_json(collect_results(study_, folder())), {"\"kind\": \"simulated\""});
}

TEST_F(Results, ShowPublishedValuesOnlyIfComparable) {
  run("ranks=1", 0, 10);
  expect_says(markdown(), {"published total s", "| 100.0 |"});
  change_points(study_, {"seed=7"});
  expect_says(markdown(), {"published total s"});
  change_points(study_, {"train.epochs=1"});
  EXPECT_EQ(markdown().find("published total s"), std::string::npos);
  expect_says(markdown(), {"Published figures are left out", "train.epochs=1"});
  EXPECT_EQ(results_json(collect_results(study_, folder())).find("published"), std::string::npos);
}

TEST_F(Results, DrawFiguresOfExtremeNumbers) {
  study_.points[2].label = std::string("é").append(27, 'x') + "é";  // cut within a character
  run("ranks=1", 0, 1e300);
  run("ranks=2", 0, 1e-300);
  run(study_.points[2].label, 0, 1e29);
  write_results(collect_results(study_, folder()), folder());
  EXPECT_TRUE(fs::exists(folder() / "speed-up.png"));
}

TEST_F(Results, AreWrittenAsTablesAndFigures) {
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
