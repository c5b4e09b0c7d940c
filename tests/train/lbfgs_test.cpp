// Training with L-BFGS: on one rank, on many, and by a coordinator with workers and servers.

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "nn/nn_testing.h"
#include "parallel/lbfgs/lbfgs_history.h"
#include "train/epoch_feed.h"
#include "train/parallel_testing.h"
#include "train/replica.h"

namespace lockstep {
namespace {

// Batches of 60 of 120 samples, with dropout: two steps per epoch, of several iterations each.
RunConfig iris(int64_t ranks) {
  RunConfig config = iris_config();
  config.train.epochs = 3;
  config.train.batch = 60;
  config.optimizer = {
      .name = "lbfgs", .lr = 1, .weight_decay = 1e-3, .history = 4, .iterations = 5};
  config.parallel = {.ranks = ranks,
                     .backend = Backend::threads,
                     .mode = Mode::reproducible,
                     .batch = BatchOf::all};
  return config;
}

RunConfig sandblaster(int64_t workers, int64_t servers) {
  RunConfig config = iris(workers + servers + 1);
  config.parallel.mode = Mode::fast;
  config.parallel.strategy = "sandblaster";
  config.parallel.servers = servers;
  return config;
}

class Lbfgs : public InFolder {};

TEST_F(Lbfgs, GivesTheSameBitsOnAnyNumberOfRanks) {
  const ParallelTraining one(iris(1));
  for (const int64_t ranks : {2, 4, 8}) {
    const ParallelTraining many(iris(ranks));
    for (const auto& replica : many.weights)
      EXPECT_EQ(replica, one.weights[0]) << ranks << " ranks";
    EXPECT_EQ(many.record.steps.size(), one.record.steps.size());
    for (size_t i = 0; i < one.record.steps.size(); ++i)
      EXPECT_EQ(many.record.steps[i].gradient_norm, one.record.steps[i].gradient_norm) << i;
  }
  EXPECT_EQ(ParallelTraining(iris(1)).weights, one.weights);
}

TEST_F(Lbfgs, GivesTheSameBitsWithWorkersAndServers) {
  const ParallelTraining one(iris(1));
  for (const auto& [workers, servers] : {std::pair(1, 1), {2, 1}, {3, 2}, {8, 3}}) {
    const ParallelTraining many(sandblaster(workers, servers));
    const std::string what = fmt::format("{} workers, {} servers", workers, servers);
    for (const auto& replica : many.weights) EXPECT_EQ(replica, one.weights[0]) << what;
    ASSERT_EQ(many.record.steps.size(), one.record.steps.size()) << what;
    for (size_t i = 0; i < one.record.steps.size(); ++i)
      EXPECT_NEAR(many.record.steps[i].loss, one.record.steps[i].loss, 1e-6) << what;
    EXPECT_EQ(many.summary.test->loss, one.summary.test->loss) << what;
  }
}

TEST_F(Lbfgs, InModeFastIsCloseToOneRank) {
  RunConfig config = iris(1);
  config.parallel.mode = Mode::fast;
  config.train.epochs = 1;
  const ParallelTraining one(config);
  for (const int64_t ranks : {2, 3, 7}) {
    config.parallel.ranks = ranks;
    const ParallelTraining many(config);
    EXPECT_LT(largest_difference(many.weights[0], one.weights[0]), 1e-3) << ranks;
    for (const auto& replica : many.weights) EXPECT_EQ(replica, many.weights[0]) << ranks;
  }
}

// Golden value: tests/golden/make_lbfgs_golden.py.
TEST_F(Lbfgs, FindsTheMinimumThatScipyFinds) {
  RunConfig config = iris_config();
  config.model.layers = {"dense 3"};
  config.data = {.name = "iris", .normalize = Normalize::standardize};
  config.train.epochs = 12;
  config.train.batch = 0;
  config.optimizer = {.name = "lbfgs", .lr = 1, .weight_decay = 0.01};
  Training training(config);
  training.run();
  double squares = 0;
  for (const float weight : training.weights()) squares += double(weight) * weight;
  const double loss = training.record.steps.back().loss;
  EXPECT_NEAR(loss + 0.01 / 2 * squares, 0.266201000802472, 1e-6);
  EXPECT_LT(training.record.steps.back().gradient_norm, 1e-6);
}

TEST_F(Lbfgs, ResumesWithItsHistory) {
  for (const RunConfig& config : {iris(1), iris(2), sandblaster(2, 1)}) {
    const ParallelTraining whole(config);
    const fs::path checkpoints = folder() / fmt::format("{}", config.parallel.ranks);
    // Strategies whose ranks do not share results stop at the end of an epoch.
    const ParallelTraining cut(config, checkpoints, false, 3);
    ASSERT_LT(cut.record.steps.size(), whole.record.steps.size());
    const ParallelTraining rest(config, checkpoints, true);
    EXPECT_EQ(rest.weights, whole.weights) << config.parallel.strategy;
  }
}

TEST_F(Lbfgs, RefusesWhatItCannotDo) {
  const auto refusal = [](const auto& change) {
    RunConfig config = iris(2);
    change(config);
    return error_of<UserError>([&] { check(config); });
  };
  expect_says(refusal([](RunConfig& c) { c.train.clip_norm = 1; }), {"train.clip_norm", "lbfgs"});
  expect_says(refusal([](RunConfig& c) {
                c.parallel.mode = Mode::fast;
                c.parallel.compress = Compression::bf16;
              }),
              {"parallel.compress", "lbfgs"});
  expect_says(refusal([](RunConfig& c) {
                c.parallel.mode = Mode::fast;
                c.parallel.strategy = "scatter-gather";
              }),
              {"scatter-gather", "sandblaster"});
  RunConfig config = sandblaster(1, 1);
  config.optimizer.name = "adam";
  expect_says(error_of<UserError>([&] { check(config); }), {"sandblaster", "adam", "lbfgs"});
  config = sandblaster(1, 65);
  expect_says(error_of<UserError>([&] { check(config); }), {"parallel.servers = 65", "64"});
  expect_says(error_of<UserError>([&] { training_ranks(sandblaster(9, 1).parallel, 11); }),
              {"8 portions", "9 workers", "parallel.shards"});
  expect_says(error_of<UserError>([&] { training_ranks(config.parallel, 2); }), {"at least"});
}

// Samples of one worker that does something before each of its portions.
class OddSource final : public BatchSource {
 public:
  OddSource(BatchSource& inside, std::function<void()> before)
      : inside_(inside), before_(std::move(before)) {}
  int64_t steps() const override { return inside_.steps(); }
  const StepShare& share(int64_t step) const override { return inside_.share(step); }
  MicroBatch next() override { return inside_.next(); }
  void repeat(int64_t step) override { inside_.repeat(step); }
  void choose(int64_t step, int64_t portion) override {
    before_();
    inside_.choose(step, portion);
  }

 private:
  BatchSource& inside_;
  std::function<void()> before_;
};

struct Killed {};

// Weights after an epoch in which worker 1 calls `before` before each portion.
std::vector<float> weights_after(const RunConfig& config, const std::function<void()>& before) {
  const DataSplits data = load_data(config.data, 1);
  std::vector<float> weights;
  std::atomic<bool> others_are_done = false;
  run_thread_ranks(static_cast<int>(config.parallel.ranks), 60, [&](Communicator& ranks) {
    const WallClock clock;
    const auto device = make_test_device(config.device);
    const int workers = training_ranks(config.parallel, ranks.size());
    EpochFeed feed(config, *data.train, ranks.rank(), workers);
    InitialNetwork network(config, data.train->sample_shape(), *device, ranks.size(), ranks.rank());
    network.set_weights(config);
    Replica replica(config, ranks, *device, clock,
                    {data.train->sample_shape(), data.train->outputs(), false, "iris"},
                    {feed.micro_batch(), feed.micro_batches()}, std::move(network));
    replica.prepare();
    feed.start(1, 0);
    OddSource odd(feed, before);
    BatchSource& source = ranks.rank() == 1 ? static_cast<BatchSource&>(odd) : feed;
    if (!replica.trains()) {
      replica.strategy->serve(replica.worker);
    } else {
      try {
        for (int64_t step = 0; step < feed.steps(); ++step)
          replica.strategy->step(replica.worker, source, {.step = step, .learning_rate = 1});
        if (ranks.rank() == 0) others_are_done = true;
      } catch (const Killed&) {
        // Its thread has to take part in the end of the group, nothing else.
        while (!others_are_done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    StepTimes times;
    replica.strategy->end_epoch(replica.worker, false, times);
    if (ranks.rank() == 0) weights = copy_of(replica.parameters.weights_on_host());
  });
  return weights;
}

TEST_F(Lbfgs, ASlowWorkerChangesNothing) {
  const RunConfig config = sandblaster(3, 1);
  const std::vector<float> usual = weights_after(config, [] {});
  EXPECT_EQ(
      weights_after(config, [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }),
      usual);
}

TEST_F(Lbfgs, AWorkerLostWithItsPortionChangesNothing) {
  const RunConfig config = sandblaster(3, 2);
  const std::vector<float> usual = weights_after(config, [] {});
  for (const int after : {1, 4}) {
    int portions = 0;
    EXPECT_EQ(weights_after(config,
                            [&] {
                              if (++portions == after) throw Killed();
                            }),
              usual)
        << "lost at its portion " << after;
  }
}

TEST(ArenaPart, CoversTheArenaInTheSameBlocksForAnyNumberOfParts) {
  for (const size_t arena : {0u, 1u, 63u, 64u, 1000u, 123'456u}) {
    const ArenaPart whole(arena, 1, 0);
    ASSERT_EQ(whole.floats(), arena);
    for (const int64_t parts : {2, 3, 8, 64, 100}) {
      size_t at = 0, block = 0;
      for (int64_t part = 0; part < parts; ++part) {
        const ArenaPart one(arena, parts, part);
        if (one.blocks() > 0) EXPECT_EQ(one.begin(), at);
        at += one.floats();
        for (const size_t end : one.ends()) EXPECT_EQ(one.begin() + end, whole.ends()[block++]);
      }
      EXPECT_EQ(at, arena) << parts;
      EXPECT_EQ(block, 64u) << parts;
    }
  }
}

}  // namespace
}  // namespace lockstep
