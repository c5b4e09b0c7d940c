#pragma once

#include <string>
#include <vector>

#include "base/files.h"

namespace lockstep {

// A plot for a paper: curves over numbers, or bars over names.
struct Figure {
  struct Point {
    double x = 0, y = 0;
    double low = 0, high = 0;  // the spread; equal to y where there is none
    std::string
        mark;  // "measured", "oversubscribed", "simulated": each has its own sign; "line": none
  };
  struct Series {
    std::string name;
    std::vector<Point> points;
    bool dashed = false;  // published figures, the ideal line
  };
  std::string title, x_label, y_label;
  std::vector<std::string> names;  // of x = 0, 1, 2 ...: bars instead of curves
  std::vector<Series> series;
};

// Writes it as .svg or .png, by the file's ending.
void draw(const Figure& figure, const fs::path& file);

}  // namespace lockstep
