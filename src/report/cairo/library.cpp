#include "report/cairo/library.h"

#include <cairo/cairo-svg.h>

#include "report/cairo/figure_drawing.h"
#include "report/cairo/pdf.h"

namespace lockstep {
namespace {

constexpr double pixels = 2;  // PNG pixels per unit

std::string draw_to_file(const Figure& figure, const fs::path& file, bool png) {
  using Surface = std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)>;
  const Surface surface(
      png ? cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(figure_width * pixels),
                                       static_cast<int>(figure_height * pixels))
          : cairo_svg_surface_create(file.c_str(), figure_width, figure_height),
      cairo_surface_destroy);
  if (!png) cairo_svg_surface_set_document_unit(surface.get(), CAIRO_SVG_UNIT_PX);
  cairo_status_t status = CAIRO_STATUS_SUCCESS;
  {
    Canvas canvas(surface.get());
    if (png) cairo_scale(canvas.context(), pixels, pixels);
    draw_figure(figure, canvas);
    status = cairo_status(canvas.context());
  }
  if (status == CAIRO_STATUS_SUCCESS && png)
    status = cairo_surface_write_to_png(surface.get(), file.c_str());
  return finish(surface.get(), status);
}

}  // namespace
}  // namespace lockstep

const lockstep::FigureLibrary lockstep_figures_library = {.draw = lockstep::draw_to_file,
                                                          .write_pdf = lockstep::draw_pdf};
