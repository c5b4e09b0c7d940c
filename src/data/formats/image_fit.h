#pragma once

#include "base/shape.h"
#include "data/formats/image.h"

namespace lockstep {

// The image in the shape a network expects: resized (area average when shrinking, interpolation
// when enlarging) and converted to grey or colour.
Image fit_image(const Image& image, const Shape& wanted);

}  // namespace lockstep
