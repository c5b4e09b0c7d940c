#include "data/sources/idx_parts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/part.h"
#include "data/datasets/image_dataset.h"
#include "data/formats/idx.h"
#include "os/thread_pool.h"

namespace lockstep {
namespace {

// The two files of a part, opened and their headers compared; the content is not read yet.
struct OpenPart {
  explicit OpenPart(const IdxPart& part) : images(part.images, 3), labels(part.labels, 1) {
    if (images.count() != labels.count())
      throw UserError("{} holds {} images but {} holds {} labels; they do not belong together",
                      part.images.string(), images.count(), part.labels.string(), labels.count());
  }
  Shape shape() const { return Shape{images.extent(1), images.extent(2), 1}; }

  IdxFile images;
  IdxFile labels;
};

void append_labels(IdxFile& file, size_t classes, std::vector<int32_t>& labels) {
  std::vector<uint8_t> bytes(file.bytes());
  file.read_into(bytes);
  for (size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] >= classes)
      throw UserError("{}: label {} (byte {}) is {}, expected 0 to {}", file.path().string(), i,
                      i + 8, bytes[i], classes - 1);
  labels.insert(labels.end(), bytes.begin(), bytes.end());
}

}  // namespace

fs::path find_idx(const fs::path& folder, const std::string& stem) {
  const std::string kind = stem.ends_with("labels") ? "idx1-ubyte" : "idx3-ubyte";
  for (const char* ending : {"", ".gz"})
    for (const char* joint : {"-", "."}) {
      const fs::path path = folder / (stem + joint + kind + ending);
      std::error_code error;
      if (fs::is_regular_file(path, error)) return path;
    }
  return {};
}

IdxPart train_part(const fs::path& folder) {
  IdxPart part{find_idx(folder, "train-images"), find_idx(folder, "train-labels")};
  if (part.images.empty() || part.labels.empty())
    throw UserError("{} holds no {}-ubyte (plain or .gz)", folder.string(),
                    part.images.empty() ? "train-images-idx3" : "train-labels-idx1");
  return part;
}

std::optional<IdxPart> test_part(const fs::path& folder) {
  IdxPart part{find_idx(folder, "t10k-images"), find_idx(folder, "t10k-labels")};
  if (part.images.empty() && part.labels.empty()) return std::nullopt;
  if (part.images.empty() || part.labels.empty())
    throw UserError("{} holds {} but no {}-ubyte (plain or .gz)", folder.string(),
                    (part.images.empty() ? part.labels : part.images).filename().string(),
                    part.images.empty() ? "t10k-images-idx3" : "t10k-labels-idx1");
  return part;
}

SourceData read_idx_parts(const IdxPart& train, const std::optional<IdxPart>& test,
                          std::vector<std::string> classes, const OwnPart* own, int threads) {
  std::vector<OpenPart> parts;
  parts.emplace_back(train);
  if (test) parts.emplace_back(*test);
  if (parts.back().shape() != parts.front().shape())
    throw UserError("{} holds images of {}x{} but {} of {}x{}; all must have the same size",
                    train.images.string(), parts[0].shape().height(), parts[0].shape().width(),
                    test->images.string(), parts[1].shape().height(), parts[1].shape().width());
  const Shape shape = parts.front().shape();
  const int64_t train_rows = parts.front().images.count();

  std::vector<int32_t> labels;
  uint64_t bytes = 0;
  for (OpenPart& part : parts) {
    append_labels(part.labels, classes.empty() ? 256 : classes.size(), labels);
    bytes += part.images.bytes();
  }
  if (classes.empty())
    for (int32_t name = 0; name <= *std::max_element(labels.begin(), labels.end()); ++name)
      classes.push_back(std::to_string(name));

  std::vector<RowRange> held;
  if (own) {
    const Part mine = part_of(train_rows, own->ranks, own->rank);
    held = {{mine.begin, mine.end}, {train_rows, static_cast<int64_t>(labels.size())}};
    bytes -= static_cast<uint64_t>((train_rows - mine.size()) * shape.elements());
  }
  std::vector<uint8_t> pixels(bytes);
  const uint64_t train_bytes = parts.size() == 1 ? bytes : bytes - parts.back().images.bytes();
  const std::array part_pixels = {std::span(pixels).first(train_bytes),
                                  std::span(pixels).subspan(train_bytes)};
  if (own) {
    const uint64_t skipped = static_cast<uint64_t>(held[0].begin * shape.elements());
    IdxFile& images = parts.front().images;
    own->read(images.path(), images.plain_content() + skipped, part_pixels[0]);
  }
  const size_t first = own ? 1 : 0;
  ThreadPool(threads).split(static_cast<int64_t>(parts.size() - first), 1,
                            [&](int64_t begin, int64_t end, int) {
                              for (auto i = size_t(begin) + first; i < size_t(end) + first; ++i)
                                parts[i].images.read_into(part_pixels[i]);
                            });
  SourceData data;
  data.samples = std::make_unique<ImageDataset>(shape, std::move(pixels), std::move(labels),
                                                std::move(classes), std::move(held));
  data.train_rows = train_rows;
  return data;
}

}  // namespace lockstep
