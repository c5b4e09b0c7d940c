// Folds: every sample is tested on once, classes keep their proportions, only the seed matters.

#include "data/folds.h"

#include <set>

#include "base/error.h"
#include "data/data_testing.h"
#include "data/datasets/table_dataset.h"
#include "data/permutation.h"

namespace lockstep {
namespace {

// Class c has counts[c] samples.
TableDataset samples(const std::vector<int64_t>& counts) {
  std::vector<int32_t> labels;
  std::vector<std::string> classes;
  for (size_t c = 0; c < counts.size(); ++c) {
    classes.push_back("class " + std::to_string(c));
    labels.insert(labels.end(), static_cast<size_t>(counts[c]), static_cast<int32_t>(c));
  }
  std::vector<float> values(labels.size(), 1.0f);
  return {{"x"}, values, labels, classes};
}

std::vector<Fold> folds_of(const Dataset& data, int64_t folds, uint64_t seed = 1) {
  return make_folds(data, natural_order(data.size()), folds, seed, "");
}

TEST(Folds, TestEverySampleOnceAndTrainOnTheRest) {
  const TableDataset data = samples({23, 31, 10});
  std::multiset<int64_t> tested;
  for (const Fold& fold : folds_of(data, 5)) {
    tested.insert(fold.test.begin(), fold.test.end());
    std::vector<int64_t> both = fold.train;
    both.insert(both.end(), fold.test.begin(), fold.test.end());
    std::sort(both.begin(), both.end());
    EXPECT_EQ(both, natural_order(64));
    EXPECT_NEAR(static_cast<double>(fold.test.size()), 64.0 / 5, 1);
  }
  const std::vector<int64_t> all(tested.begin(), tested.end());
  EXPECT_EQ(all, natural_order(64));
}

TEST(Folds, KeepTheProportionsOfClasses) {
  const TableDataset data = samples({20, 40, 60});
  for (const Fold& fold : folds_of(data, 10)) {
    std::vector<int> counts(3);
    for (const int64_t row : fold.test) ++counts[static_cast<size_t>(data.label(row))];
    EXPECT_EQ(counts, (std::vector<int>{2, 4, 6}));
  }
}

TEST(Folds, DependOnlyOnTheSeed) {
  const TableDataset data = samples({30, 30});
  EXPECT_EQ(folds_of(data, 4, 7)[2].test, folds_of(data, 4, 7)[2].test);
  EXPECT_NE(folds_of(data, 4, 7)[2].test, folds_of(data, 4, 8)[2].test);
}

TEST(Folds, AreRefusedIfAClassHasFewerSamples) {
  const TableDataset data = samples({30, 3});
  expect_says(error_of<UserError>([&] { folds_of(data, 4); }),
              {"crossval.folds = 4", "3 samples of class 'class 1'", "at most 3"});
  expect_says(error_of<UserError>([&] { folds_of(samples({3}), 4); }), {"more than the 3 samples"});
  EXPECT_EQ(folds_of(samples({8, 0, 8}), 4).size(), 4u);  // an empty class is accepted
}

TEST(Parts, AreDisjointBalancedAndComplete) {
  const TableDataset data = samples({40, 24});
  std::vector<int64_t> all;
  for (const auto& part : make_parts(data, 4, 1)) {
    EXPECT_EQ(part.size(), 16u);
    all.insert(all.end(), part.begin(), part.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, natural_order(64));
}

}  // namespace
}  // namespace lockstep
