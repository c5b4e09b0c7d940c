// Cross-validation: folds on groups of ranks give the same results as one after the other; finished
// folds are kept.

#include "train/crossval/cross_validation.h"

#include <nlohmann/json.hpp>

#include "train/crossval/task_queue.h"
#include "train/parallel_testing.h"
#include "train/record/run_folder.h"

namespace lockstep {
namespace {

class CrossValidation : public InFolder {
 protected:
  static RunConfig five_folds() {
    RunConfig config = iris_config();
    config.train.epochs = 2;
    config.crossval.folds = 5;
    return config;
  }

  CrossvalSummary run(const RunConfig& config, int ranks, const std::string& name,
                      int64_t stop_after = 0) {
    const DataSplits data = load_data(config.data, static_cast<uint64_t>(config.seed));
    CrossvalSummary summary;
    std::atomic<bool> stop{false};
    trained_ = 0;
    run_thread_ranks(ranks, 60, [&](Communicator& all) {
      const WallClock clock;
      const CrossvalSummary mine = cross_validate(
          config, all, data, clock, folder() / name,
          [&](const FoldResult&, const FoldProgress& progress) {
            if (all.size() == 1) progress_ = progress;
            if (++trained_ == stop_after) stop = true;
          },
          true, stop);
      if (all.rank() == 0) summary = mine;
    });
    return summary;
  }

  static std::vector<std::pair<double, double>> figures(const CrossvalSummary& s) {
    std::vector<std::pair<double, double>> all;
    for (const FoldResult& r : s.results) all.emplace_back(r.loss, r.accuracy);
    return all;
  }

  std::atomic<int64_t> trained_{0};
  FoldProgress progress_;  // of the last fold of a run on one rank
};

TEST_F(CrossValidation, OnSeveralRanksGivesTheResultsOfOneRank) {
  RunConfig config = five_folds();
  const CrossvalSummary serial = run(config, 1, "serial");
  ASSERT_EQ(serial.results.size(), 5u);
  EXPECT_GT(serial.accuracy.mean, 0.5);
  const CrossvalSummary farmed = run(config, 3, "farmed");
  EXPECT_EQ(farmed.groups, 3);
  EXPECT_EQ(figures(serial), figures(farmed));
  EXPECT_EQ(serial.test->loss, farmed.test->loss);
}

TEST_F(CrossValidation, WithMoreRanksThanGroupsTrainsEachFoldInParallel) {
  RunConfig config = five_folds();
  config.train.batch = 16;
  config.parallel.batch = BatchOf::all;
  config.crossval.groups = 2;
  const auto serial = figures(run(config, 1, "serial")), both = figures(run(config, 4, "both"));
  ASSERT_EQ(serial.size(), both.size());
  for (size_t i = 0; i < serial.size(); ++i) EXPECT_NEAR(serial[i].first, both[i].first, 1e-4);
}

TEST_F(CrossValidation, ResumesWithTheUnfinishedFolds) {
  const RunConfig config = five_folds();
  const CrossvalSummary whole = run(config, 1, "whole");
  const CrossvalSummary part = run(config, 1, "broken", 2);
  EXPECT_FALSE(part.finished);
  EXPECT_EQ(part.results.size(), 2u);
  const CrossvalSummary rest = run(config, 2, "broken");
  EXPECT_EQ(trained_, 3);
  EXPECT_TRUE(rest.finished);
  EXPECT_EQ(figures(rest), figures(whole));
  // With another configuration, finished folds are trained again.
  RunConfig other = config;
  other.optimizer.lr = 0.02;
  run(other, 1, "broken");
  EXPECT_EQ(trained_, 5);
}

TEST_F(CrossValidation, TimeLeftCountsOnlyFoldsOfThisStart) {
  const RunConfig config = five_folds();
  run(config, 1, "broken", 3);
  EXPECT_DOUBLE_EQ(progress_.left(30), 20);  // three folds took 30 s, two are left
  run(config, 1, "broken", 1);
  EXPECT_EQ(progress_.trained, 1);
  EXPECT_EQ(progress_.done, 4);
  EXPECT_DOUBLE_EQ(progress_.left(10), 10);  // one took 10 s, one is left
}

TEST_F(CrossValidation, AveragesTheModelsOfNodesOrKeepsTheBest) {
  RunConfig config = five_folds();
  config.crossval.folds = 3;
  config.crossval.nodes = 2;
  config.crossval.model = FoldModel::average;
  const CrossvalSummary s = run(config, 2, "nodes");
  ASSERT_EQ(s.results.size(), 6u);
  ASSERT_EQ(s.node_tests.size(), 2u);
  ASSERT_TRUE(s.test);
  double trained = 0;
  for (const FoldResult& r : s.results) trained += r.train_accuracy / 6.0;
  EXPECT_NEAR(s.train_accuracy.mean, trained, 1e-12);
  EXPECT_GT(trained, 0.5);  // three classes
  // The saved model is the mean of all six.
  const SavedRun saved = load_run(folder() / "nodes");
  double expected = 0;
  for (const FoldResult& r : s.results)
    expected += load_run(folder() / "nodes/folds" / r.task.name()).parameters->weights()[3] / 6.0;
  EXPECT_NEAR(saved.parameters->weights()[3], expected, 1e-6);

  config.crossval.combine = NodeModel::best;
  const CrossvalSummary each = run(config, 2, "each");
  EXPECT_EQ(each.test->accuracy,
            std::max(each.node_tests[0].accuracy, each.node_tests[1].accuracy));
}

TEST_F(CrossValidation, CanRetrainOnAllSamples) {
  RunConfig config = five_folds();
  config.crossval.model = FoldModel::retrain;
  run(config, 2, "anew");
  EXPECT_EQ(trained_, 6);
  // The same as training without folds.
  Training plain(config);
  plain.run();
  const SavedRun saved = load_run(folder() / "anew");
  EXPECT_TRUE(std::equal(saved.parameters->weights().begin(), saved.parameters->weights().end(),
                         plain.weights().begin()));
}

TEST_F(CrossValidation, KeepsTheBestEpochByTheValidationPart) {
  RunConfig config = five_folds();
  config.data.validation = 0.2;
  config.train.keep = Keep::best;
  const CrossvalSummary s = run(config, 2, "best");
  EXPECT_TRUE(s.finished);
  expect_says(read_text(folder() / "best/folds/node-0-fold-0/summary.json"), {"best_epoch"});
}

TEST_F(CrossValidation, NamesTheFoldThatDiverges) {
  RunConfig config = five_folds();
  config.optimizer = {.name = "sgd", .lr = 1e30};
  expect_says(error_of<Failure>([&] { run(config, 1, "wild"); }), {"node-0-fold-0", "diverged"});
}

TEST(MeanAndDeviation, DividesByTheNumberOfValuesMinusOne) {
  const MeanAndDeviation m = mean_and_deviation({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_DOUBLE_EQ(m.mean, 5);
  EXPECT_NEAR(m.deviation, 2.13809, 1e-5);
  EXPECT_EQ(mean_and_deviation({3}).deviation, 0);
}

TEST(QuickestGroups, WithoutAGlobalBatchAFoldGetsSeveralRanksOnlyIfSomeAreIdle) {
  EXPECT_EQ(fastest_groups(10, 1, false), 1);
  EXPECT_EQ(fastest_groups(10, 4, false), 4);
  EXPECT_EQ(fastest_groups(2, 8, false), 2);  // more ranks than folds
}

TEST(QuickestGroups, BalanceRoundsAgainstRanksPerFold) {
  EXPECT_EQ(fastest_groups(10, 4, true), 2);    // 5 rounds of two ranks, not 3 of one
  EXPECT_EQ(fastest_groups(8, 4, true), 4);     // no rank idle
  EXPECT_EQ(fastest_groups(10, 20, true), 10);  // one round
}

TEST_F(CrossValidation, QueueGivesEachNumberOnce) {
  TaskQueue::reset(folder() / "queue");
  std::vector<std::atomic<int>> taken(200);
  std::vector<std::thread> takers;
  for (int t = 0; t < 4; ++t)
    takers.emplace_back([&] {
      TaskQueue queue(folder() / "queue", 200, 10);
      while (const auto number = queue.next()) ++taken[static_cast<size_t>(*number)];
    });
  for (std::thread& taker : takers) taker.join();
  for (const auto& count : taken) EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace lockstep
