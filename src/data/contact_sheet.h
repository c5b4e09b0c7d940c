#pragma once

#include <span>
#include <string>

#include "data/image.h"
#include "data/image_dataset.h"

namespace lockstep {

// The images in a grid, `columns` to a row (0: as square as it gets), enlarged when they are small,
// with a thin gap between.
Image contact_sheet(const ImageDataset& images, std::span<const int64_t> rows, int64_t columns = 0);

// The same for a terminal `width` characters wide, with the class above each image: half blocks in
// 24-bit colour, or plain ASCII.
std::string terminal_sheet(const ImageDataset& images, std::span<const int64_t> rows, int64_t width,
                           bool colour);

}  // namespace lockstep
