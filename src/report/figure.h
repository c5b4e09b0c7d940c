#pragma once

#include <optional>
#include <string>
#include <vector>

#include "os/files.h"
#include "report/run_kind.h"

namespace lockstep {

// A plot for a paper: curves over numbers, or bars over names.
struct Figure {
  struct Point {
    double x = 0, y = 0;
    double low = 0, high = 0;     // the spread; equal to y if there is none
    std::optional<RunKind> kind;  // selects the marker; none: only the line is drawn
  };
  struct Series {
    std::string name;
    std::vector<Point> points;
    bool dashed = false;     // the ideal line
    bool published = false;  // values of a document: diamonds in the colour of the series before
  };
  std::string title, x_label, y_label;
  std::vector<std::string> names;  // of x = 0, 1, 2, ...; not empty: bars instead of curves
  std::vector<Series> series;
  std::string note;          // what the reader must know to compare the points
  bool from_zero = true;     // the y axis begins at 0; otherwise bars become markers
  bool logarithmic = false;  // the y axis, if all values are above 0
};

enum class FigureFormat { svg, png, pdf };

// Writes the figure as .svg, .png or .pdf, by the extension of the file.
void draw(const Figure& figure, const fs::path& file);

}  // namespace lockstep
