#pragma once

#include <cairo/cairo.h>

#include <memory>
#include <string>

namespace lockstep {

// Draws text and lines on a cairo surface.
class Canvas {
 public:
  explicit Canvas(cairo_surface_t* surface) : c_(cairo_create(surface), cairo_destroy) {
    use_font(false);
  }
  cairo_t* context() const { return c_.get(); }

  void use_font(bool bold) {
    cairo_select_font_face(c_.get(), "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  }
  void colour(double r, double g, double b) { cairo_set_source_rgb(c_.get(), r, g, b); }
  // align: 0: the text begins at x; 0.5: centred; 1: it ends at x
  void text(double x, double y, const std::string& words, double size, double align,
            double angle = 0);
  double width_of(const std::string& words, double size);
  // The words, shortened with "…" if they are wider than `width`.
  std::string fitted(const std::string& words, double size, double width);
  void line(double x0, double y0, double x1, double y1);

 private:
  std::unique_ptr<cairo_t, void (*)(cairo_t*)> c_;
};

// Finishes the surface. Returns the reason if it could not be written, else "".
std::string finish(cairo_surface_t* surface, cairo_status_t status);

}  // namespace lockstep
