#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "data/image_dataset.h"
#include "data/sources/registry.h"

namespace lockstep {
namespace {

constexpr size_t plane = 32 * 32;
constexpr size_t record = 1 + 3 * plane;  // the label, then red, green and blue planes

// Appends the records of a file, from planes to height × width × channels.
void append_records(const fs::path& path, std::vector<uint8_t>& pixels,
                    std::vector<int32_t>& labels) {
  const std::vector<uint8_t> file = read_bytes(path);
  if (file.empty() || file.size() % record != 0)
    throw UserError(
        "{} holds {} bytes; expected a whole number of records of {} bytes (30730000 in "
        "the original); it is truncated or not CIFAR-10's binary form",
        path.string(), file.size(), record);
  const size_t count = file.size() / record, start = pixels.size();
  pixels.resize(start + count * 3 * plane);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* from = file.data() + i * record;
    if (from[0] >= 10)
      throw UserError("{}: the label of record {} (byte {}) is {}, expected 0 to 9", path.string(),
                      i, i * record, from[0]);
    labels.push_back(from[0]);
    uint8_t* to = pixels.data() + start + i * 3 * plane;
    for (size_t c = 0; c < 3; ++c)
      for (size_t p = 0; p < plane; ++p) to[3 * p + c] = from[1 + c * plane + p];
  }
}

}  // namespace

SourceData load_cifar10(const DataConfig& config, const Say&, const OwnPart*) {
  fs::path folder =
      required_path(config,
                    "the folder with data_batch_1.bin to data_batch_5.bin and test_batch.bin "
                    "(cifar-10-binary.tar.gz, unpacked)");
  if (fs::is_directory(folder / "cifar-10-batches-bin")) folder /= "cifar-10-batches-bin";
  std::vector<uint8_t> pixels;
  std::vector<int32_t> labels;
  pixels.reserve(60000 * 3 * plane);
  for (int part = 1; part <= 5; ++part)
    append_records(folder / fmt::format("data_batch_{}.bin", part), pixels, labels);
  SourceData data;
  data.train_rows = static_cast<int64_t>(labels.size());
  append_records(folder / "test_batch.bin", pixels, labels);
  data.samples = std::make_unique<ImageDataset>(Shape{32, 32, 3}, std::move(pixels),
                                                std::move(labels), find_source("cifar-10").classes);
  data.provenance = "cifar-10 (" + size_text(data) + ")";
  return data;
}

}  // namespace lockstep
