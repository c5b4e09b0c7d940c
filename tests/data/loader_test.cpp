#include "data/loader.h"

#include <atomic>
#include <chrono>
#include <set>

#include "base/error.h"
#include "data/data_testing.h"
#include "data/permutation.h"

namespace lockstep {
namespace {

// Sample i is the number i. Reading can be slow, so that workers overtake each other, or fail at a
// row.
class Numbers : public Dataset {
 public:
  explicit Numbers(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  Shape sample_shape() const override { return {1}; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int32_t label(int64_t) const override { return 0; }
  void read(std::span<const int64_t> rows, Batch& batch) const override {
    if (slow && rows[0] % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    batch.rows = static_cast<int64_t>(rows.size());
    batch.x.assign(rows.begin(), rows.end());
    batch.labels.assign(rows.size(), 0);
    batch.ids.assign(rows.begin(), rows.end());
    for (const int64_t row : rows)
      if (row == bad_row) throw UserError("row {} is bad", row);
  }
  bool slow = false;
  int64_t bad_row = -1;

 private:
  int64_t size_;
  std::vector<std::string> classes_ = {"number"};
};

std::vector<std::vector<int64_t>> epoch_of(BatchLoader& loader, int64_t epoch) {
  loader.start_epoch(epoch);
  std::vector<std::vector<int64_t>> batches;
  while (const Batch* batch = loader.next())
    batches.emplace_back(batch->ids.begin(), batch->ids.begin() + batch->rows);
  EXPECT_EQ(loader.next(), nullptr);
  return batches;
}

TEST(EpochOrder, IsAPermutationThatDependsOnlyOnSeedAndEpoch) {
  const std::vector<int64_t> order = epoch_order(100, 1, 2);
  EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 100u);
  EXPECT_EQ(order, epoch_order(100, 1, 2));
  EXPECT_NE(order, epoch_order(100, 1, 3));
  EXPECT_NE(order, epoch_order(100, 2, 2));
}

TEST(BatchLoader, DeliversTheLastPartialBatch) {
  const Numbers numbers(7);
  BatchLoader loader(numbers, 3, 1, false, 0);
  EXPECT_EQ(loader.batches(), 3);
  EXPECT_EQ(epoch_of(loader, 0), (std::vector<std::vector<int64_t>>{{0, 1, 2}, {3, 4, 5}, {6}}));
}

TEST(BatchLoader, TakesTheWholeSetForABatchOfZero) {
  const Numbers numbers(7);
  BatchLoader loader(numbers, 0, 1, false, 1);
  EXPECT_EQ(epoch_of(loader, 0), (std::vector<std::vector<int64_t>>{{0, 1, 2, 3, 4, 5, 6}}));
}

TEST(BatchLoader, DeliversTheSameBatchesWithAnyNumberOfWorkers) {
  Numbers numbers(103);
  numbers.slow = true;
  BatchLoader alone(numbers, 4, 9, true, 0);
  for (const int workers : {1, 2, 7}) {
    BatchLoader helped(numbers, 4, 9, true, workers);
    for (const int64_t epoch : {0, 1, 5})
      EXPECT_EQ(epoch_of(helped, epoch), epoch_of(alone, epoch));
  }
}

TEST(BatchLoader, DeliversNothingBeforeTheFirstEpoch) {
  const Numbers numbers(7);
  for (const int workers : {0, 2})
    EXPECT_EQ(BatchLoader(numbers, 2, 1, true, workers).next(), nullptr);
}

TEST(BatchLoader, KeepsABatchUntilTheNextCall) {
  const Numbers numbers(60);
  BatchLoader loader(numbers, 2, 1, false, 3);
  loader.start_epoch(0);
  for (int64_t i = 0; const Batch* batch = loader.next(); ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));  // lets workers run ahead
    EXPECT_EQ(batch->ids[0], 2 * i);
    EXPECT_EQ(batch->x[1], static_cast<float>(2 * i + 1));
  }
}

TEST(BatchLoader, StartsOverInTheMiddleOfAnEpoch) {
  Numbers numbers(50);
  numbers.slow = true;
  for (const int workers : {0, 1, 4}) {
    BatchLoader loader(numbers, 2, 1, true, workers);
    BatchLoader fresh(numbers, 2, 1, true, 0);
    for (int64_t epoch = 0; epoch < 20; ++epoch) {
      loader.start_epoch(epoch);
      for (int64_t i = 0; i < epoch % 5; ++i) loader.next();
    }
    EXPECT_EQ(epoch_of(loader, 20), epoch_of(fresh, 20));
  }
}

TEST(BatchLoader, EndsWhileWorkersAreBusy) {
  Numbers numbers(50);
  numbers.slow = true;
  for (int taken = 0; taken < 10; ++taken) {
    BatchLoader loader(numbers, 1, 1, true, 3);
    loader.start_epoch(0);
    for (int i = 0; i < taken; ++i) loader.next();
  }
}

TEST(BatchLoader, ThrowsAnErrorAtTheBatchThatCausedIt) {
  Numbers numbers(10);
  numbers.bad_row = 5;
  for (const int workers : {0, 2}) {
    BatchLoader loader(numbers, 2, 1, false, workers);
    loader.start_epoch(0);
    EXPECT_EQ(loader.next()->ids[0], 0);
    EXPECT_EQ(loader.next()->ids[0], 2);
    expect_says(error_of<UserError>([&] { loader.next(); }), {"row 5 is bad"});
    EXPECT_EQ(loader.next()->ids[0], 6);  // later batches are still delivered
    loader.start_epoch(1);
    EXPECT_EQ(loader.next()->ids[0], 0);
  }
}

TEST(BatchLoader, RefusesInvalidArguments) {
  const Numbers numbers(10), none(0);
  expect_says(error_of<UserError>([&] { BatchLoader(numbers, -1, 1, true, 0); }), {"-1"});
  expect_says(error_of<UserError>([&] { BatchLoader(numbers, 1, 1, true, -2); }), {"workers = -2"});
  expect_says(error_of<UserError>([&] { BatchLoader(none, 1, 1, true, 0); }), {"no samples"});
}

}  // namespace
}  // namespace lockstep
