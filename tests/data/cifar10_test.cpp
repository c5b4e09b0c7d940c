#include "base/error.h"
#include "data/image_dataset.h"
#include "data/sources/registry.h"
#include "data_testing.h"

namespace lockstep {
namespace {

class Cifar10 : public InFolder {
 protected:
  // A record whose planes are 1, 2 and 3 all over.
  static Content record(uint8_t label) {
    Content bytes = {label};
    for (uint8_t plane = 1; plane <= 3; ++plane) bytes.insert(bytes.end(), 1024, plane);
    return bytes;
  }
  SourceData load() {
    DataConfig config;
    config.name = "cifar-10";
    config.path = folder();
    return find_source("cifar-10").load(config, {}, nullptr);
  }
  void SetUp() override {
    for (uint8_t part = 1; part <= 5; ++part)
      write("data_batch_" + std::to_string(part) + ".bin", record(part));
    write("test_batch.bin", record(9));
  }
};

TEST_F(Cifar10, TurnsPlanesIntoPixels) {
  const SourceData data = load();
  EXPECT_EQ(data.train_rows, 5);
  EXPECT_EQ(data.test_rows(), 1);
  EXPECT_EQ(data.samples->label(5), 9);
  const auto pixels = dynamic_cast<const ImageDataset&>(*data.samples).pixels(0);
  EXPECT_EQ(Content(pixels.begin(), pixels.begin() + 6), (Content{1, 2, 3, 1, 2, 3}));
}

TEST_F(Cifar10, SaysWhichFileIsTruncatedMissingOrMislabelled) {
  const auto error = [&] { return error_of<UserError>([&] { load(); }); };
  Content short_record = record(1);
  short_record.pop_back();
  write("data_batch_3.bin", short_record);
  expect_says(error(), {"data_batch_3.bin holds 3072 bytes", "3073"});
  write("data_batch_3.bin", record(10));
  expect_says(error(), {"data_batch_3.bin", "record 0", "is 10"});
  fs::remove(folder() / "data_batch_2.bin");
  expect_says(error(), {"data_batch_2.bin"});
}

}  // namespace
}  // namespace lockstep
