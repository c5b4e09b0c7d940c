#pragma once

#include <span>
#include <string>

#include "data/datasets/image_dataset.h"

namespace lockstep {

// Images for a terminal `width` characters wide, with the class above each image: half blocks in
// 24-bit colour, or plain ASCII.
std::string terminal_sheet(const ImageDataset& images, std::span<const int64_t> rows, int64_t width,
                           bool colour);

}  // namespace lockstep
