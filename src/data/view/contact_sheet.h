#pragma once

#include <span>
#include <string>

#include "data/datasets/image_dataset.h"
#include "data/formats/image.h"

namespace lockstep {

// The images in a grid, `columns` to a row (0: as square as it gets), enlarged when they are small,
// with a thin gap between.
Image contact_sheet(const ImageDataset& images, std::span<const int64_t> rows, int64_t columns = 0);

}  // namespace lockstep
