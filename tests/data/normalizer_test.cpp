#include "data/normalizer.h"

#include "base/error.h"
#include "data/data_testing.h"
#include "data/datasets/image_dataset.h"
#include "data/datasets/table_dataset.h"

namespace lockstep {
namespace {

const std::vector<std::string> two = {"a", "b"};

std::vector<float> row_of(RawDataset& dataset, Normalize type, std::vector<int64_t> fitted_on,
                          int64_t row) {
  dataset.set_normalizer(dataset.fit(type, fitted_on));
  Batch batch;
  dataset.read(std::vector<int64_t>{row}, batch);
  return batch.x;
}

TEST(ImageNormalisation, UnitMapsBytesToZeroToOne) {
  ImageDataset images({1, 3, 1}, {0, 51, 255}, {0}, two);
  const std::vector<float> x = row_of(images, Normalize::unit, {0}, 0);
  EXPECT_EQ(x[0], 0.0f);
  EXPECT_FLOAT_EQ(x[1], 0.2f);
  EXPECT_EQ(x[2], 1.0f);
  EXPECT_EQ(row_of(images, Normalize::none, {0}, 0), (std::vector<float>{0, 51, 255}));
}

TEST(ImageNormalisation, StandardizesEachChannelByTheTrainingRowsOnly) {
  // Channels: red 10 and 30 in the training rows, green constant, blue 0 and 100; row 2 differs.
  ImageDataset images({1, 1, 3}, {10, 7, 0, 30, 7, 100, 255, 9, 50}, {0, 0, 1}, two);
  const Normalizer fitted = images.fit(Normalize::standardize, std::vector<int64_t>{0, 1});
  EXPECT_EQ(fitted.shift, (std::vector<float>{20, 7, 50}));
  EXPECT_FLOAT_EQ(fitted.scale[0], 0.1f);
  EXPECT_EQ(fitted.scale[1], 1.0f);  // constant: not scaled
  EXPECT_FLOAT_EQ(fitted.scale[2], 0.02f);
  const std::vector<float> x = row_of(images, Normalize::standardize, {0, 1}, 2);
  EXPECT_FLOAT_EQ(x[0], 23.5f);
  EXPECT_FLOAT_EQ(x[1], 2.0f);
  EXPECT_FLOAT_EQ(x[2], 0.0f);
}

TEST(TableNormalisation, UnitScalesEachColumnFromLowestToHighest) {
  TableDataset table({"x", "y"}, {2, 5, 4, 5, 3, 5}, {0, 0, 1}, two);
  EXPECT_EQ(row_of(table, Normalize::unit, {0, 1, 2}, 2), (std::vector<float>{0.5f, 0}));
  EXPECT_EQ(row_of(table, Normalize::none, {0, 1, 2}, 2), (std::vector<float>{3, 5}));
}

TEST(TableNormalisation, StandardizesFeaturesFarFromZeroExactly) {
  TableDataset table({"year", "y"}, {2000001, 0, 2000003, 4}, {0, 1}, two);
  EXPECT_EQ(row_of(table, Normalize::standardize, {0, 1}, 0), (std::vector<float>{-1, -1}));
  EXPECT_EQ(row_of(table, Normalize::standardize, {0, 1}, 1), (std::vector<float>{1, 1}));
}

TEST(Normalizer, RefusesAWrongNumberOfChannels) {
  const Normalizer three{Normalize::unit, {0, 0, 0}, {1, 1, 1}};
  expect_says(error_of<UserError>([&] { check_fits(three, Shape{28, 28, 1}); }), {"3", "28x28x1"});
}

}  // namespace
}  // namespace lockstep
