#include "report/cairo/canvas.h"

#include "base/names.h"

namespace lockstep {

// After text that is not UTF-8 cairo ignores all further calls, hence printable().
double Canvas::width_of(const std::string& words, double size) {
  cairo_text_extents_t extents;
  cairo_set_font_size(c_.get(), size);
  cairo_text_extents(c_.get(), printable(words).c_str(), &extents);
  return extents.x_advance;
}

void Canvas::text(double x, double y, const std::string& words, double size, double align,
                  double angle) {
  cairo_save(c_.get());
  const double width = width_of(words, size);
  cairo_translate(c_.get(), x, y);
  cairo_rotate(c_.get(), angle);
  cairo_move_to(c_.get(), -width * align, 0);
  cairo_show_text(c_.get(), printable(words).c_str());
  cairo_restore(c_.get());
}

std::string Canvas::fitted(const std::string& words, double size, double width) {
  if (width_of(words, size) <= width) return words;
  size_t low = 0, high = words.size();  // number of bytes that fit, that do not fit
  while (high - low > 1) {
    const size_t middle = (low + high) / 2;
    (width_of(words.substr(0, middle) + "…", size) <= width ? low : high) = middle;
  }
  while (low > 0 && (static_cast<unsigned char>(words[low]) & 0xc0) == 0x80) --low;
  return words.substr(0, low) + "…";
}

void Canvas::line(double x0, double y0, double x1, double y1) {
  cairo_move_to(c_.get(), x0, y0);
  cairo_line_to(c_.get(), x1, y1);
  cairo_stroke(c_.get());
}

std::string finish(cairo_surface_t* surface, cairo_status_t status) {
  cairo_surface_finish(surface);
  if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_status(surface);
  return status == CAIRO_STATUS_SUCCESS ? "" : cairo_status_to_string(status);
}

}  // namespace lockstep
