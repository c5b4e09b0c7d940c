#include "base/error.h"
#include "data/data_testing.h"
#include "data/datasets/image_dataset.h"
#include "data/gzip_testing.h"
#include "data/sources/registry.h"

namespace lockstep {
namespace {

class IdxSource : public InFolder {
 protected:
  SourceData load(const std::string& path, int workers = 0) {
    DataConfig config;
    config.name = "idx";
    config.workers = workers;
    config.path = path;
    return find_source("idx").load(config, {}, nullptr);
  }
  std::string error_for(const std::string& path) {
    return error_of<UserError>([&] { load(path); });
  }
};

TEST_F(IdxSource, PutsTheTestPartAfterTheTrainingPart) {
  write("train-images-idx3-ubyte", idx_images(3, 2, 2));
  write("train-labels.idx1-ubyte", idx_labels({0, 4, 1}));
  write("t10k-images-idx3-ubyte.gz", gzipped(idx_images(2, 2, 2)));
  write("t10k-labels-idx1-ubyte", idx_labels({2, 2}));
  for (const int workers : {0, 1, 4}) {
    const SourceData data = load(folder(), workers);
    EXPECT_EQ(data.train_rows, 3);
    EXPECT_EQ(data.test_rows(), 2);
    EXPECT_EQ(data.samples->classes(), (std::vector<std::string>{"0", "1", "2", "3", "4"}));
    EXPECT_EQ(data.samples->sample_shape(), (Shape{2, 2, 1}));
    const auto& images = dynamic_cast<const ImageDataset&>(*data.samples);
    EXPECT_EQ(images.label(1), 4);
    EXPECT_EQ(images.pixels(1)[0], 4);
    EXPECT_EQ(images.pixels(4)[3], 7);
    expect_says(data.provenance, {"3 + 2"});
  }
}

TEST_F(IdxSource, NamesTheUsersFilesByFolderEvenIfReadAsMnist) {
  write("train-images-idx3-ubyte", idx_images(3, 2, 2));
  write("train-labels-idx1-ubyte", idx_labels({0, 4, 1}));
  for (const char* name : {"mnist", "fashion-mnist"}) {
    DataConfig config;
    config.name = name;
    config.path = folder();
    EXPECT_EQ(find_source(name).load(config, {}, nullptr).provenance,
              fmt::format("{} (as {}, 3)", folder().string(), name));
  }
}

TEST_F(IdxSource, TakesAPairOfFiles) {
  const fs::path images = write("a.idx", idx_images(2, 2, 2));
  const fs::path labels = write("b.idx", idx_labels({1, 0}));
  const SourceData data = load(images.string() + "," + labels.string());
  EXPECT_EQ(data.train_rows, 2);
  EXPECT_EQ(data.test_rows(), 0);
}

TEST_F(IdxSource, RefusesImagesAndLabelsOfDifferentCounts) {
  const fs::path images = write("a.idx", idx_images(3, 2, 2));
  const fs::path labels = write("b.idx", idx_labels({1, 0}));
  expect_says(error_for(images.string() + "," + labels.string()),
              {"a.idx holds 3 images", "b.idx holds 2 labels"});
}

TEST_F(IdxSource, RefusesPartsOfDifferentImageSizes) {
  write("train-images-idx3-ubyte", idx_images(1, 2, 2));
  write("train-labels-idx1-ubyte", idx_labels({0}));
  write("t10k-images-idx3-ubyte", idx_images(1, 2, 3));
  write("t10k-labels-idx1-ubyte", idx_labels({0}));
  expect_says(error_for(folder()), {"2x2", "t10k-images-idx3-ubyte", "2x3"});
}

TEST_F(IdxSource, SaysWhichFileTheFolderLacks) {
  expect_says(error_for(folder()), {folder().string(), "train-images-idx3-ubyte"});
  write("train-images-idx3-ubyte", idx_images(1, 2, 2));
  expect_says(error_for(folder()), {"train-labels-idx1-ubyte"});
  write("train-labels-idx1-ubyte", idx_labels({0}));
  write("t10k-labels-idx1-ubyte", idx_labels({0}));
  expect_says(error_for(folder()), {"t10k-images-idx3-ubyte"});
  expect_says(error_for("nowhere"), {"nowhere", "not a folder"});
  expect_says(error_for(""), {"data.path"});
}

TEST_F(IdxSource, MnistRefusesALabelAboveNineAndSaysWhere) {
  write("train-images-idx3-ubyte", idx_images(2, 2, 2));
  write("train-labels-idx1-ubyte", idx_labels({3, 10}));
  DataConfig config;
  config.path = folder();
  const auto load_it = [&] { find_source("mnist").load(config, {}, nullptr); };
  expect_says(error_of<UserError>(load_it),
              {"train-labels-idx1-ubyte", "label 1 (byte 9) is 10", "0 to 9"});
}

TEST(MnistSample, HoldsTwoHundredAndFiftyOfEachDigit) {
  const SourceData data = find_source("mnist-sample").load({}, {}, nullptr);
  EXPECT_EQ(data.train_rows, 2000);
  EXPECT_EQ(data.test_rows(), 500);
  EXPECT_EQ(data.samples->sample_shape(), (Shape{28, 28, 1}));
  std::vector<int> train(10), test(10);
  for (int64_t row = 0; row < data.samples->size(); ++row)
    ++(row < 2000 ? train : test)[static_cast<size_t>(data.samples->label(row))];
  EXPECT_EQ(train, std::vector<int>(10, 200));
  EXPECT_EQ(test, std::vector<int>(10, 50));
}

}  // namespace
}  // namespace lockstep
