#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/part.h"
#include "data/datasets/image_dataset.h"
#include "data/sources/registry.h"
#include "os/files.h"

namespace lockstep {
namespace {

constexpr size_t plane = 32 * 32;
constexpr size_t record = 1 + 3 * plane;  // the label, then red, green and blue planes

struct Samples {
  std::vector<uint8_t> pixels;
  std::vector<int32_t> labels;
};

int64_t records_in(const fs::path& path) {
  std::error_code error;
  const uint64_t bytes = fs::file_size(path, error);
  if (error) throw UserError("cannot read {}: {}", path.string(), error.message());
  if (bytes == 0 || bytes % record != 0)
    throw UserError(
        "{} holds {} bytes; expected a whole number of records of {} bytes (30730000 in "
        "the original); it is truncated or not CIFAR-10's binary form",
        path.string(), bytes, record);
  return static_cast<int64_t>(bytes / record);
}

// Appends records, converted from planes to height × width × channels. `first`: index of the first
// record in the file, for messages.
void append_records(const fs::path& path, size_t first, const std::vector<uint8_t>& bytes,
                    Samples& samples) {
  const size_t count = bytes.size() / record, start = samples.pixels.size();
  samples.pixels.resize(start + count * 3 * plane);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* from = bytes.data() + i * record;
    if (from[0] >= 10)
      throw UserError("{}: the label of record {} (byte {}) is {}, expected 0 to 9", path.string(),
                      first + i, (first + i) * record, from[0]);
    samples.labels.push_back(from[0]);
    uint8_t* to = samples.pixels.data() + start + i * 3 * plane;
    for (size_t c = 0; c < 3; ++c)
      for (size_t p = 0; p < plane; ++p) to[3 * p + c] = from[1 + c * plane + p];
  }
}

void append_file(const fs::path& path, Samples& samples) {
  records_in(path);
  append_records(path, 0, read_bytes(path), samples);
}

// Appends only this rank's rows of the concatenated training files. Labels of other rows are 0.
RowRange append_own_part(const std::vector<fs::path>& paths, const OwnPart& own, Samples& samples) {
  int64_t rows = 0;
  for (const fs::path& path : paths) rows += records_in(path);
  const Part mine = part_of(rows, own.ranks, own.rank);
  samples.labels.resize(static_cast<size_t>(mine.begin));
  int64_t before = 0;
  for (const fs::path& path : paths) {  // every rank reads every file: read() is collective
    const int64_t count = records_in(path);
    const int64_t begin = std::clamp<int64_t>(mine.begin - before, 0, count);
    const int64_t end = std::clamp<int64_t>(mine.end - before, 0, count);
    std::vector<uint8_t> bytes(static_cast<size_t>(end - begin) * record);
    own.read(path, static_cast<uint64_t>(begin) * record, bytes);
    append_records(path, static_cast<size_t>(begin), bytes, samples);
    before += count;
  }
  samples.labels.resize(static_cast<size_t>(rows));
  return {mine.begin, mine.end};
}

}  // namespace

SourceData load_cifar10(const DataConfig& config, const Say&, const OwnPart* own) {
  fs::path folder =
      required_path(config,
                    "the folder with data_batch_1.bin to data_batch_5.bin and test_batch.bin "
                    "(cifar-10-binary.tar.gz, unpacked)");
  if (fs::is_directory(folder / "cifar-10-batches-bin")) folder /= "cifar-10-batches-bin";
  std::vector<fs::path> training;
  for (int part = 1; part <= 5; ++part)
    training.push_back(folder / fmt::format("data_batch_{}.bin", part));
  Samples samples;
  std::vector<RowRange> held;
  if (own)
    held.push_back(append_own_part(training, *own, samples));
  else
    for (const fs::path& path : training) append_file(path, samples);
  SourceData data;
  data.train_rows = static_cast<int64_t>(samples.labels.size());
  append_file(folder / "test_batch.bin", samples);
  if (own) held.push_back({data.train_rows, static_cast<int64_t>(samples.labels.size())});
  data.samples = std::make_unique<ImageDataset>(Shape{32, 32, 3}, std::move(samples.pixels),
                                                std::move(samples.labels),
                                                find_source("cifar-10").classes, std::move(held));
  data.provenance = own_files_text(config, data);
  return data;
}

}  // namespace lockstep
