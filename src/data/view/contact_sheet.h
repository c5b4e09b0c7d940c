#pragma once

#include <span>
#include <string>

#include "data/datasets/image_dataset.h"
#include "data/formats/image.h"

namespace lockstep {

// The images in a grid of `columns` columns (0: as square as possible), separated by thin gaps.
// Small images are enlarged.
Image contact_sheet(const ImageDataset& images, std::span<const int64_t> rows, int64_t columns = 0);

}  // namespace lockstep
