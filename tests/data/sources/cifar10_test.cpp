#include "base/error.h"
#include "data/data_testing.h"
#include "data/datasets/image_dataset.h"
#include "data/sources/registry.h"

namespace lockstep {
namespace {

class Cifar10 : public InFolder {
 protected:
  // A record whose planes are filled with 1, 2 and 3.
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
  EXPECT_EQ(data.provenance, folder().string() + " (as cifar-10, 5 + 1)");
  const auto pixels = dynamic_cast<const ImageDataset&>(*data.samples).pixels(0);
  EXPECT_EQ(Content(pixels.begin(), pixels.begin() + 6), (Content{1, 2, 3, 1, 2, 3}));
}

TEST_F(Cifar10, ARankReadsItsOwnPartOfTheTrainingFiles) {
  DataConfig config;
  config.name = "cifar-10";
  config.path = folder();
  for (int rank = 0; rank < 2; ++rank) {
    int opened = 0;
    const OwnPart own{rank, 2, [&](const fs::path& path, uint64_t from, std::span<uint8_t> out) {
                        const std::vector<uint8_t> all = read_bytes(path);
                        std::copy_n(all.begin() + static_cast<int64_t>(from), out.size(),
                                    out.begin());
                        ++opened;
                      }};
    const SourceData data = find_source("cifar-10").load(config, {}, &own);
    EXPECT_EQ(opened, 5);  // each rank reads from every file
    EXPECT_EQ(data.train_rows, 5);
    for (int64_t row = rank == 0 ? 0 : 2; row < (rank == 0 ? 2 : 5); ++row)
      EXPECT_EQ(data.samples->label(row), row + 1);
    EXPECT_EQ(data.samples->label(5), 9);
    Batch batch;
    data.samples->read(std::vector<int64_t>{rank == 0 ? 1 : 4, 5}, batch);
    EXPECT_GT(batch.x[0], 0);
    EXPECT_THROW(data.samples->read(std::vector<int64_t>{rank == 0 ? 2 : 1}, batch),
                 std::logic_error);
  }
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
