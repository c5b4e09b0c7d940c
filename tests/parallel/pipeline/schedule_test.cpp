// Schedules as lists of actions: order, what is in flight, deadlocks. No ranks are needed.

#include "parallel/pipeline/schedule.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "data/data_testing.h"

namespace lockstep {
namespace {

PipelineShape shape_of(Schedule schedule, int stages, int64_t micro_batches) {
  return {.schedule = schedule,
          .stages = stages,
          .chunks = schedule == Schedule::interleaved ? 2 : 1,
          .micro_batches = micro_batches};
}

std::vector<PipelineShape> all_shapes() {
  std::vector<PipelineShape> shapes;
  for (const Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved})
    for (int stages = 1; stages <= 8; ++stages)
      for (int64_t micro_batches = 1; micro_batches <= 16; ++micro_batches) {
        const bool whole_rounds = micro_batches % stages == 0;
        if (schedule != Schedule::interleaved || (stages > 1 && whole_rounds))
          shapes.push_back(shape_of(schedule, stages, micro_batches));
      }
  return shapes;
}

std::vector<std::vector<Action>> all_stages(const PipelineShape& shape) {
  std::vector<std::vector<Action>> all;
  for (int stage = 0; stage < shape.stages; ++stage) all.push_back(actions_of(shape, stage));
  return all;
}

std::string name_of(const PipelineShape& s) {
  return fmt::format("{} of {} stages, {} micro-batches", to_text(s.schedule), s.stages,
                     s.micro_batches);
}

TEST(Schedule, IsReadable) {
  EXPECT_EQ(to_text(actions_of(shape_of(Schedule::gpipe, 2, 3), 0)), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(to_text(actions_of(shape_of(Schedule::one_f_one_b, 3, 4), 0)),
            "F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(to_text(actions_of(shape_of(Schedule::one_f_one_b, 3, 4), 2)),
            "F0 B0 F1 B1 F2 B2 F3 B3");
  EXPECT_EQ(to_text(actions_of(shape_of(Schedule::interleaved, 2, 2), 1)),
            "F0.0 F0.1 F1.0 B1.0 F1.1 B1.1 B0.0 B0.1");
}

TEST(Schedule, DoesEverythingOnceInAscendingOrder) {
  for (const PipelineShape& shape : all_shapes())
    for (const std::vector<Action>& actions : all_stages(shape)) {
      std::map<std::pair<Action::Kind, int>, int64_t> next;
      for (const auto& [kind, chunk, micro_batch] : actions) {
        const int64_t due = next[std::pair(kind, chunk)]++;
        ASSERT_EQ(micro_batch, due) << name_of(shape);
        if (kind == Action::Kind::backward) {
          ASSERT_LT(micro_batch, next[std::pair(Action::Kind::forward, chunk)]) << name_of(shape);
        }
      }
      ASSERT_EQ(next.size(), static_cast<size_t>(2 * shape.chunks)) << name_of(shape);
      for (const auto& [key, count] : next) ASSERT_EQ(count, shape.micro_batches) << name_of(shape);
    }
}

TEST(Schedule, NeverDeadlocks) {
  for (const PipelineShape& shape : all_shapes())
    EXPECT_EQ(deadlock_of(all_stages(shape)).value_or("none"), "none") << name_of(shape);
}

TEST(Schedule, ADeadlockIsFoundAndNamed) {
  auto stages = all_stages(shape_of(Schedule::one_f_one_b, 2, 2));
  std::swap(stages[1][0], stages[1][2]);  // F1 before F0's turn, B0 before F0
  std::swap(stages[0][1], stages[0][2]);
  const auto found = deadlock_of({stages[0], {stages[1].rbegin(), stages[1].rend()}});
  ASSERT_TRUE(found.has_value());
  expect_says(*found, {"stage 0 waits at", "stage 1 waits at"});
}

// The table of docs/mesh.md.
TEST(Schedule, KeepsTheStatedNumberOfMicroBatchesInFlight) {
  for (const PipelineShape& shape : all_shapes())
    for (int stage = 0; stage < shape.stages; ++stage) {
      const std::vector<Action> actions = actions_of(shape, stage);
      const int64_t m = shape.micro_batches, behind = shape.stages - stage;
      if (shape.schedule == Schedule::gpipe) EXPECT_EQ(most_in_flight(actions, 0), m);
      if (shape.schedule == Schedule::one_f_one_b)
        EXPECT_EQ(most_in_flight(actions, 0), std::min<int64_t>(m, behind)) << name_of(shape);
      if (shape.schedule == Schedule::interleaved) {
        int64_t all = 0;
        for (int chunk = 0; chunk < shape.chunks; ++chunk) all += most_in_flight(actions, chunk);
        const int64_t warm_up = 2 * (behind - 1) + int64_t{shape.chunks - 1} * shape.stages + 1;
        EXPECT_GE(all, std::min(warm_up, m * shape.chunks)) << name_of(shape);
      }
      int64_t largest = 0;
      for (int chunk = 0; chunk < shape.chunks; ++chunk)
        largest = std::max(largest, most_in_flight(actions, chunk));
      EXPECT_GE(most_held(actions), largest);
      EXPECT_LE(most_held(actions), m);
    }
}

TEST(Schedule, InterleavedNeedsWholeRoundsAndSeveralChunks) {
  expect_says(error_of<UserError>([] { check(shape_of(Schedule::interleaved, 4, 6)); }),
              {"multiple of the 4 stages", "not 6", "parallel.micro_batches = 8"});
  PipelineShape shape = shape_of(Schedule::interleaved, 4, 8);
  check(shape);
  shape.chunks = 1;
  expect_says(error_of<UserError>([&] { check(shape); }), {"parallel.chunks = 2", "\"1f1b\""});
}

}  // namespace
}  // namespace lockstep
