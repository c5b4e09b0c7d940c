#include "data/load.h"

#include <set>

#include "base/error.h"
#include "data/data_testing.h"
#include "data/datasets/subset.h"

namespace lockstep {
namespace {

DataConfig named(const std::string& name) {
  DataConfig config;
  config.name = name;
  return config;
}

std::vector<int64_t> rows_of(const Dataset& part) {
  const auto& subset = dynamic_cast<const Subset&>(part);
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < subset.size(); ++row) rows.push_back(subset.whole_row(row));
  return rows;
}

std::vector<int> class_counts(const Dataset& part) {
  std::vector<int> counts(part.classes().size());
  for (int64_t row = 0; row < part.size(); ++row) ++counts[static_cast<size_t>(part.label(row))];
  return counts;
}

std::string error_for(const DataConfig& config) {
  return error_of<UserError>([&] { load_data(config, 1); });
}

TEST(LoadData, KeepsTheSourcesOwnTestPart) {
  const DataSplits splits = load_data(named("mnist-sample"), 1);
  EXPECT_EQ(splits.train->size(), 2000);
  EXPECT_EQ(splits.test->size(), 500);
  EXPECT_EQ(splits.validation, nullptr);
  EXPECT_EQ(splits.normalizer.type, Normalize::unit);
  expect_says(splits.provenance, {"mnist-sample", "2,000 + 500"});
}

// Regression: the path was ignored.
TEST(LoadData, RefusesAPathForShippedSets) {
  for (const auto& [name, own] : {std::pair("iris", "csv"), std::pair("mnist-sample", "idx")}) {
    DataConfig config = named(name);
    config.path = "mine";
    expect_says(error_for(config), {name, "takes no data.path", "'mine'", own});
  }
}

TEST(LoadData, HasNoTestPartWhenNeitherTheSourceNorTheUserGivesOne) {
  const DataSplits splits = load_data(named("iris"), 1);
  EXPECT_EQ(splits.train->size(), 150);
  EXPECT_EQ(splits.test, nullptr);
}

TEST(LoadData, PoolsTrainAndTestWhenTestIsSet) {
  DataConfig config = named("mnist-sample");
  config.test = 0.2;
  config.validation = 100;
  const DataSplits splits = load_data(config, 1);
  EXPECT_EQ(splits.train->size(), 1900);
  EXPECT_EQ(splits.validation->size(), 100);
  EXPECT_EQ(splits.test->size(), 500);
  std::set<int64_t> all;
  for (const Dataset* part : {splits.train.get(), splits.validation.get(), splits.test.get()})
    for (const int64_t row : rows_of(*part)) all.insert(row);
  EXPECT_EQ(all.size(), 2500u);                    // no sample is in two parts
  EXPECT_LT(rows_of(*splits.test).front(), 2000);  // drawn from the pool
}

TEST(LoadData, SplitDependsOnlyOnTheSeed) {
  DataConfig config = named("iris");
  config.test = 0.2;
  EXPECT_EQ(rows_of(*load_data(config, 7).test), rows_of(*load_data(config, 7).test));
  EXPECT_NE(rows_of(*load_data(config, 7).test), rows_of(*load_data(config, 8).test));
}

TEST(LoadData, DrawsTheSameTestPartWhetherOrNotThereIsAValidationPart) {
  DataConfig config = named("iris");
  config.test = 30;
  const std::vector<int64_t> alone = rows_of(*load_data(config, 7).test);
  config.validation = 0.1;
  EXPECT_EQ(rows_of(*load_data(config, 7).test), alone);
}

TEST(LoadData, KeepsTheProportionsOfClassesWhenStratified) {
  DataConfig config = named("iris");
  config.stratified = true;
  config.test = 0.2;
  config.validation = 31;
  const DataSplits splits = load_data(config, 3);
  EXPECT_EQ(class_counts(*splits.test), (std::vector<int>{10, 10, 10}));
  EXPECT_EQ(splits.validation->size(), 31);
  for (const int count : class_counts(*splits.validation)) EXPECT_NEAR(count, 10.3, 0.8);
}

TEST(LoadData, TakesTheRowsOfScikitLearnsSplit) {
  DataConfig config = named("iris");
  config.test = 0.2;
  config.splitter = Splitter::scikit_learn;
  config.split_seed = 42;
  // sorted(train_test_split(range(150), test_size=0.2, random_state=42)[1])
  const std::vector<int64_t> expected = {9,   12,  18,  19,  26,  29,  30,  31,  36,  45,
                                         55,  56,  64,  68,  69,  73,  76,  78,  82,  104,
                                         108, 110, 118, 127, 128, 131, 132, 141, 143, 145};
  EXPECT_EQ(rows_of(*load_data(config, 1).test), expected);
  EXPECT_EQ(load_data(config, 1).train->size(), 120);
  config.stratified = true;
  expect_says(error_of<UserError>([&] { load_data(config, 1); }),
              {"scikit-learn", "data.stratified = false"});
}

TEST(LoadData, SharesASplitBetweenSeedsWithSplitSeed) {
  DataConfig config = named("iris");
  config.test = 0.2;
  config.split_seed = 5;
  EXPECT_EQ(rows_of(*load_data(config, 1).test), rows_of(*load_data(config, 2).test));
  config.split_seed = -1;
  EXPECT_NE(rows_of(*load_data(config, 1).test), rows_of(*load_data(config, 2).test));
}

TEST(LoadData, LimitsTheTrainingPartOnly) {
  DataConfig config = named("mnist-sample");
  config.limit = 50;
  const DataSplits splits = load_data(config, 3);
  EXPECT_EQ(splits.train->size(), 50);
  EXPECT_EQ(splits.test->size(), 500);
  EXPECT_GT(rows_of(*splits.train).back(), 1000);  // random rows, not the first ones
}

TEST(LoadData, FitsTheNormalisationToTheTrainingPartOnly) {
  DataConfig config = named("iris");
  config.normalize = Normalize::standardize;
  config.test = 50;
  const DataSplits splits = load_data(config, 5);
  std::vector<int64_t> rows(100);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i);
  Batch batch;
  splits.train->read(rows, batch);
  double sum = 0, squares = 0;
  for (size_t i = 0; i < 100; ++i)
    sum += batch.x[4 * i], squares += batch.x[4 * i] * batch.x[4 * i];
  EXPECT_NEAR(sum / 100, 0, 1e-5);
  EXPECT_NEAR(squares / 100, 1, 1e-5);
}

TEST(LoadData, RefusesPartsThatAreEmptyOrTooLarge) {
  DataConfig config = named("iris");
  config.test = 150;
  expect_says(error_for(config), {"data.test = 150", "150 samples"});
  config.test = 0.001;
  expect_says(error_for(config), {"data.test = 0.001", "empty"});
  config.test = 1.5;
  expect_says(error_for(config), {"data.test = 1.5", "whole number"});
  config.test = -0.1;
  expect_says(error_for(config), {"data.test = -0.1"});
  config.test = 100;
  config.validation = 50;
  expect_says(error_for(config), {"data.validation = 50", "50 samples"});
  config.validation = 0;
  config.limit = 51;
  expect_says(error_for(config), {"data.limit = 51", "50 training samples"});
}

TEST(LoadData, SuggestsTheNearestName) {
  expect_says(error_for(named("fashion_mnist")),
              {"'fashion_mnist'", "did you mean 'fashion-mnist'"});
}

TEST(Subset, NumbersItsRowsFromZero) {
  DataConfig config = named("iris");
  config.test = 10;
  const DataSplits splits = load_data(config, 5);
  Batch batch;
  splits.test->read(std::vector<int64_t>{9, 0}, batch);
  EXPECT_EQ(batch.ids, (std::vector<int64_t>{9, 0}));
  EXPECT_EQ(batch.labels[0], splits.test->label(9));
}

}  // namespace
}  // namespace lockstep
