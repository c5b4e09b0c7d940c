#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "data/view/terminal_sheet.h"

#include "data/formats/image_fit.h"

namespace lockstep {
namespace {

// Adds one line of characters of an image. A half block shows two pixels, one above the other.
void add_colour_line(const Image& image, int64_t line, std::string& out) {
  const int64_t width = image.shape.width();
  for (int64_t x = 0; x < width; ++x) {
    const uint8_t* upper = image.pixels.data() + (2 * line * width + x) * 3;
    const uint8_t* lower = upper + width * 3;
    fmt::format_to(std::back_inserter(out), "\x1b[38;2;{};{};{};48;2;{};{};{}m\u2580", upper[0],
                   upper[1], upper[2], lower[0], lower[1], lower[2]);
  }
  out += "\x1b[0m";
}

void add_ascii_line(const Image& image, int64_t line, std::string& out) {
  constexpr std::string_view shades = " .:-=+*#%@";
  const int64_t width = image.shape.width();
  for (int64_t x = 0; x < width; ++x)
    out += shades[image.pixels[static_cast<size_t>(line * width + x)] * (shades.size() - 1) / 255];
}

}  // namespace

std::string terminal_sheet(const ImageDataset& images, std::span<const int64_t> rows, int64_t width,
                           bool colour) {
  const Shape shape = images.sample_shape();
  const int64_t tile_width = std::clamp<int64_t>(shape.width(), 1, std::max<int64_t>(width - 1, 1));
  const int64_t lines =
      std::max<int64_t>(1, shape.height() * tile_width / std::max<int64_t>(shape.width(), 1) / 2);
  // A character is about twice as high as wide: with half blocks it holds two pixels, else one.
  const Shape tile = colour ? Shape{lines * 2, tile_width, 3} : Shape{lines, tile_width, 1};
  const auto per_line = static_cast<size_t>(std::max<int64_t>(1, width / (tile_width + 1)));
  const auto characters = static_cast<size_t>(tile_width);
  std::string out;
  for (size_t start = 0; start < rows.size(); start += per_line) {
    const auto group = rows.subspan(start, std::min(per_line, rows.size() - start));
    std::vector<Image> tiles;
    for (const int64_t row : group) {
      const std::span<const uint8_t> pixels = images.pixels(row);
      tiles.push_back(fit_image({shape, {pixels.begin(), pixels.end()}}, tile));
      const std::string& name = images.classes()[static_cast<size_t>(images.label(row))];
      out += fmt::format("{:<{}.{}} ", name, characters, characters);
    }
    for (int64_t line = 0; line < lines; ++line) {
      out += '\n';
      for (const Image& image : tiles) {
        colour ? add_colour_line(image, line, out) : add_ascii_line(image, line, out);
        out += ' ';
      }
    }
    out += "\n";
  }
  return out;
}

}  // namespace lockstep
