#include "data/view/contact_sheet.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace lockstep {
namespace {

constexpr int64_t gap = 2;
constexpr uint8_t gap_shade = 96;  // neither black nor white, so that the edges of images show

}  // namespace

Image contact_sheet(const ImageDataset& images, std::span<const int64_t> rows, int64_t columns) {
  const Shape tile = images.sample_shape();
  const auto count = static_cast<int64_t>(rows.size());
  if (count == 0) throw UserError("a contact sheet needs at least one image");
  if (columns <= 0) columns = static_cast<int64_t>(std::ceil(std::sqrt(double(count))));
  columns = std::min(columns, count);
  const int64_t lines = (count + columns - 1) / columns;
  const int64_t scale = std::clamp<int64_t>(96 / std::max(tile.height(), tile.width()), 1, 4);
  const int64_t step_down = tile.height() * scale + gap, step_across = tile.width() * scale + gap;
  const int64_t height = lines * step_down + gap, width = columns * step_across + gap;
  if (height > (int64_t{64} << 20) / width)
    throw UserError("{} images of {} make a sheet of {} x {} pixels; choose fewer", count,
                    tile.text(), width, height);
  const int64_t channels = tile.channels() == 3 ? 3 : 1;
  Image sheet{Shape{height, width, channels}, {}};
  sheet.pixels.assign(static_cast<size_t>(sheet.shape.elements()), gap_shade);
  for (int64_t i = 0; i < count; ++i) {
    const std::span<const uint8_t> from = images.pixels(rows[static_cast<size_t>(i)]);
    const int64_t top = gap + i / columns * step_down, left = gap + i % columns * step_across;
    for (int64_t y = 0; y < tile.height() * scale; ++y)
      for (int64_t x = 0; x < tile.width() * scale; ++x)
        for (int64_t c = 0; c < channels; ++c)
          sheet.pixels[static_cast<size_t>(((top + y) * width + left + x) * channels + c)] =
              from[static_cast<size_t>((y / scale * tile.width() + x / scale) * tile.channels() +
                                       c)];
  }
  return sheet;
}

}  // namespace lockstep
