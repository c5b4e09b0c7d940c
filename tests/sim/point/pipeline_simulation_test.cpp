// Simulated pipelines, on ghost ranks: their time is that of the schedule, and they never hang.

#include "sim/sim_testing.h"

namespace lockstep {
namespace {

// Two steps of 1 + 2 ms per micro-batch of 2 rows (the profile's kernels are for 8), links that
// take next to no time.
double step_ms(Schedule schedule, int64_t stages, int64_t micro_batches, int64_t replicas = 1,
               Engine engine = Engine::simgrid) {
  FixedProfile fixed;
  RunConfig& config = fixed.config;
  config.model.layers = {"dense 30 relu", "dense 30 relu", "dense 30 relu", "dense 3"};
  config.train.batch = 2 * micro_batches;
  config.parallel.pipeline = stages;
  config.parallel.schedule = schedule;
  config.parallel.micro_batches = micro_batches;
  RunConfig alone = config;
  alone.parallel = {};
  fixed.add(alone, 2);
  Cluster cluster;
  cluster.kinds = {{.count = static_cast<int>(stages * replicas), .cores = 2, .memory = 1e12}};
  cluster.link = {1e12, 1e-9};
  SimulatedPoint point = place_point(config, cluster, stages * replicas, stages * replicas, false);
  point.samples = 64 * micro_batches;
  return 1e3 *
         simulate_point(point, fixed.data, fixed.profile, cluster, {.engine = engine}).step_seconds;
}

TEST(PipelineSimulation, TakesTheTimeOfItsBubble) {
  // Each of four layers takes 3 ms per micro-batch, the loss and the update little.
  const double one = step_ms(Schedule::one_f_one_b, 1, 8);
  EXPECT_NEAR(one, 8 * 4 * 3, 3);
  for (const int64_t stages : {2, 4}) {
    const double ideal = one / static_cast<double>(stages);
    const double bubble = static_cast<double>(8 + stages - 1) / 8;
    for (const Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b})
      EXPECT_NEAR(step_ms(schedule, stages, 8), ideal * bubble, 0.06 * ideal)
          << to_text(schedule) << " of " << stages;
  }
  // Two parts per rank: half of the bubble.
  EXPECT_NEAR(step_ms(Schedule::interleaved, 2, 8), one / 2 * (1 + 1.0 / 16), 0.06 * one / 2);
}

TEST(PipelineSimulation, ReplicasOverlapTheirExchange) {
  const double one = step_ms(Schedule::one_f_one_b, 2, 4);
  EXPECT_NEAR(step_ms(Schedule::one_f_one_b, 2, 4, 4), one, 0.05 * one);
}

TEST(PipelineSimulation, NeverHangs) {
  for (const Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved})
    for (const int64_t stages : {2, 3, 4}) {
      const bool interleaved = schedule == Schedule::interleaved;
      if (interleaved && stages > 2) continue;  // four layers
      for (const int64_t micro_batches :
           interleaved ? std::vector{stages, 2 * stages}
                       : std::vector{int64_t{1}, stages - 1, stages, 2 * stages + 1})
        EXPECT_GT(step_ms(schedule, stages, micro_batches, 2), 0);
    }
}

TEST(PipelineSimulation, RefusesTooManyStagesAndClosedForms) {
  expect_says(error_of<UserError>([] { step_ms(Schedule::gpipe, 5, 4); }), {"4 steps", "5 parts"});
  expect_says(
      error_of<UserError>([] { step_ms(Schedule::one_f_one_b, 2, 4, 1, Engine::analytic); }),
      {"closed forms do not know pipelines", "--engine simgrid"});
}

}  // namespace
}  // namespace lockstep
