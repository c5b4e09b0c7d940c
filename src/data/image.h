#pragma once

#include <cstdint>
#include <vector>

#include "base/files.h"
#include "base/shape.h"

namespace lockstep {

// One picture: bytes of height × width × channels; 1 channel is grey, 3 are red, green, blue.
struct Image {
  Shape shape;
  std::vector<uint8_t> pixels;
};

// Reads a PNG or JPEG file (told apart by content, not by name). What is transparent becomes white.
Image read_image(const fs::path& path);

void write_png(const fs::path& path, const Image& image);

// The image as a network wants it: resized to the height and width (each pixel the average of the
// area it covers when smaller, interpolated when larger), turned to grey or to colour.
Image fit_image(const Image& image, const Shape& wanted);

}  // namespace lockstep
