#pragma once

#include <cstdint>
#include <vector>

#include "base/shape.h"
#include "os/files.h"

namespace lockstep {

// One picture: bytes of height × width × channels; 1 channel is grey, 3 are red, green, blue.
struct Image {
  Shape shape;
  std::vector<uint8_t> pixels;
};

// Reads a PNG or JPEG file (told apart by content, not by name). What is transparent becomes white.
Image read_image(const fs::path& path);

void write_png(const fs::path& path, const Image& image);

}  // namespace lockstep
