#pragma once

#include "report/cairo/canvas.h"
#include "report/figure.h"

namespace lockstep {

constexpr double figure_width = 640, figure_height = 440;

// Draws the figure with its upper left corner at the origin, figure_width × figure_height.
void draw_figure(const Figure& figure, Canvas& canvas);

}  // namespace lockstep
