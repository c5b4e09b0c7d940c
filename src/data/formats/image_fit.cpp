#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/formats/image_fit.h"

namespace lockstep {
namespace {

// Source pixels of one output pixel: those from `first` on, with their weights (sum 1).
struct Tap {
  int64_t first = 0;
  std::vector<float> weights;
};

std::vector<Tap> taps(int64_t from, int64_t to) {
  std::vector<Tap> all(static_cast<size_t>(to));
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  for (int64_t i = 0; i < to; ++i) {
    Tap& tap = all[static_cast<size_t>(i)];
    if (ratio >= 1) {  // the average over [begin, end)
      const double begin = static_cast<double>(i) * ratio, end = begin + ratio;
      tap.first = static_cast<int64_t>(begin);
      const int64_t last = std::min(from, static_cast<int64_t>(std::ceil(end - 1e-9)));
      for (int64_t p = tap.first; p < last; ++p) {
        const double low = std::max(begin, double(p)), high = std::min(end, double(p) + 1);
        tap.weights.push_back(static_cast<float>(std::max(0.0, high - low) / ratio));
      }
    } else {  // interpolation between the two nearest pixel centres; edges are repeated
      const double centre = std::clamp((static_cast<double>(i) + 0.5) * ratio - 0.5, 0.0,
                                       static_cast<double>(from - 1));
      tap.first = static_cast<int64_t>(centre);
      const auto share = static_cast<float>(centre - static_cast<double>(tap.first));
      tap.weights = {1 - share};
      if (tap.first + 1 < from) tap.weights.push_back(share);
    }
  }
  return all;
}

uint8_t to_byte(float value) {
  return static_cast<uint8_t>(std::clamp(std::lround(value), 0l, 255l));
}

Image with_channels(const Image& image, int64_t channels) {
  if (image.shape.channels() == channels) return image;
  Image result{Shape{image.shape.height(), image.shape.width(), channels}, {}};
  result.pixels.reserve(static_cast<size_t>(result.shape.elements()));
  if (channels == 3) {
    for (const uint8_t grey : image.pixels) result.pixels.insert(result.pixels.end(), 3, grey);
  } else {
    for (size_t i = 0; i < image.pixels.size(); i += 3)  // the luma of BT.601, as in JPEG
      result.pixels.push_back(to_byte(0.299f * image.pixels[i] + 0.587f * image.pixels[i + 1] +
                                      0.114f * image.pixels[i + 2]));
  }
  return result;
}

Image resized(const Image& image, int64_t height, int64_t width) {
  const int64_t old_height = image.shape.height(), old_width = image.shape.width();
  const int64_t channels = image.shape.channels();
  const std::vector<Tap> across = taps(old_width, width), down = taps(old_height, height);
  std::vector<float> row(static_cast<size_t>(old_width * channels));
  Image result{Shape{height, width, channels}, {}};
  result.pixels.reserve(static_cast<size_t>(result.shape.elements()));
  for (const Tap& vertical : down) {
    std::fill(row.begin(), row.end(), 0.0f);
    for (size_t k = 0; k < vertical.weights.size(); ++k) {
      const size_t start = (static_cast<size_t>(vertical.first) + k) * row.size();
      for (size_t i = 0; i < row.size(); ++i)
        row[i] += vertical.weights[k] * image.pixels[start + i];
    }
    for (const Tap& horizontal : across)
      for (int64_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (size_t k = 0; k < horizontal.weights.size(); ++k)
          sum += horizontal.weights[k] *
                 row[(static_cast<size_t>(horizontal.first) + k) * static_cast<size_t>(channels) +
                     static_cast<size_t>(c)];
        result.pixels.push_back(to_byte(sum));
      }
  }
  return result;
}

}  // namespace

Image fit_image(const Image& image, const Shape& wanted) {
  if (!wanted.is_image() || (wanted.channels() != 1 && wanted.channels() != 3))
    throw UserError(
        "an image cannot be turned into samples of shape {}; expected height x width x 1 "
        "or 3 channels",
        wanted.text());
  const Image coloured = with_channels(image, wanted.channels());
  if (coloured.shape == wanted) return coloured;
  return resized(coloured, wanted.height(), wanted.width());
}

}  // namespace lockstep
