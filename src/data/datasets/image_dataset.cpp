#include "data/datasets/image_dataset.h"

#include <cmath>
#include <utility>

#include "base/error.h"

namespace lockstep {
namespace {

// Integers, so that the result does not depend on the order of the rows.
struct Sums {
  uint64_t values = 0;
  uint64_t squares = 0;
};

void add(Sums& sums, std::span<const uint8_t> pixels, size_t channel, size_t channels) {
  uint64_t values = 0, squares = 0;
  if (channels == 1) {  // separate loop: without a stride the compiler vectorises it
    for (const uint32_t value : pixels) values += value, squares += value * value;
  } else {
    for (size_t i = channel; i < pixels.size(); i += channels) {
      const uint32_t value = pixels[i];
      values += value, squares += value * value;
    }
  }
  sums.values += values;
  sums.squares += squares;
}

}  // namespace

ImageDataset::ImageDataset(Shape shape, std::vector<uint8_t> pixels, std::vector<int32_t> labels,
                           std::vector<std::string> classes, std::vector<RowRange> held)
    : RawDataset(shape, std::move(labels), std::move(classes)),
      pixels_(std::move(pixels)),
      held_(std::move(held)) {
  ENSURE(shape.is_image());
  if (held_.empty()) held_ = {{0, size()}};
  int64_t rows = 0;
  for (const RowRange& range : held_) rows += range.end - range.begin;
  ENSURE(pixels_.size() == static_cast<size_t>(rows * shape.elements()));
}

std::span<const uint8_t> ImageDataset::pixels(int64_t row) const {
  const auto sample = static_cast<size_t>(sample_shape().elements());
  int64_t before = 0;
  for (const RowRange& range : held_) {
    if (row >= range.begin && row < range.end)
      return std::span(pixels_).subspan(static_cast<size_t>(before + row - range.begin) * sample,
                                        sample);
    before += range.end - range.begin;
  }
  report_bug("a sample of another rank was requested", __FILE__, __LINE__);
}

void ImageDataset::read_row(int64_t row, std::span<float> out) const {
  normalizer().apply(pixels(row), out);
}

Normalizer ImageDataset::fit(Normalize type, std::span<const int64_t> rows) const {
  if (type == Normalize::none) return {};
  if (type == Normalize::unit) return {type, {0.0f}, {1.0f / 255.0f}};
  ENSURE(!rows.empty());
  const auto channels = static_cast<size_t>(sample_shape().channels());
  std::vector<Sums> sums(channels);
  for (const int64_t row : rows)
    for (size_t c = 0; c < channels; ++c) add(sums[c], pixels(row), c, channels);
  const double count = static_cast<double>(rows.size()) *
                       static_cast<double>(sample_shape().elements()) / double(channels);
  Normalizer normalizer{type, {}, {}};
  for (const Sums& sum : sums) {
    const double mean = static_cast<double>(sum.values) / count;
    const double variance = static_cast<double>(sum.squares) / count - mean * mean;
    // A constant channel is not scaled; a variance below 1e-6 is rounding error.
    const double deviation = variance > 1e-6 ? std::sqrt(variance) : 1.0;
    normalizer.shift.push_back(static_cast<float>(mean));
    normalizer.scale.push_back(static_cast<float>(1.0 / deviation));
  }
  return normalizer;
}

}  // namespace lockstep
