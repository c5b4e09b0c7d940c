#pragma once

#include "base/shape.h"
#include "data/formats/image.h"

namespace lockstep {

// The image as a network wants it: resized to the height and width (each pixel the average of the
// area it covers when smaller, interpolated when larger), turned to grey or to colour.
Image fit_image(const Image& image, const Shape& wanted);

}  // namespace lockstep
