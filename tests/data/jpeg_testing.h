#pragma once

#include <turbojpeg.h>

#include "data/formats/image.h"

namespace lockstep {

inline std::vector<uint8_t> jpeg_of(const Image& image) {
  const tjhandle encoder = tjInitCompress();
  unsigned char* data = nullptr;
  unsigned long bytes = 0;
  const bool grey = image.shape.channels() == 1;
  tjCompress2(encoder, image.pixels.data(), static_cast<int>(image.shape.width()), 0,
              static_cast<int>(image.shape.height()), grey ? TJPF_GRAY : TJPF_RGB, &data, &bytes,
              grey ? TJSAMP_GRAY : TJSAMP_444, 95, 0);
  const std::vector<uint8_t> file(data, data + bytes);
  tjFree(data);
  tjDestroy(encoder);
  return file;
}

}  // namespace lockstep
