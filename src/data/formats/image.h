#pragma once

#include <cstdint>
#include <vector>

#include "base/shape.h"
#include "os/files.h"

namespace lockstep {

// pixels: height × width × channels; 1 channel is grey, 3 are red, green, blue.
struct Image {
  Shape shape;
  std::vector<uint8_t> pixels;
};

// Reads a PNG or JPEG file, detected by content, not by name. Transparency is blended with white.
Image read_image(const fs::path& path);

void write_png(const fs::path& path, const Image& image);

}  // namespace lockstep
