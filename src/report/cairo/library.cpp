#include "report/cairo/library.h"

#include <cairo/cairo-pdf.h>
#include <cairo/cairo-svg.h>

#include "report/cairo/figure_drawing.h"
#include "report/cairo/pdf.h"

namespace lockstep {
namespace {

constexpr double pixels = 2;    // PNG pixels per unit
constexpr double points = 0.5;  // PDF points per unit: two columns of a paper hold a figure each

std::string draw_to_file(const Figure& figure, const fs::path& file, FigureFormat format) {
  const bool png = format == FigureFormat::png;
  using Surface = std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)>;
  const Surface surface(
      png ? cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(figure_width * pixels),
                                       static_cast<int>(figure_height * pixels))
      : format == FigureFormat::pdf
          ? cairo_pdf_surface_create(file.c_str(), figure_width * points, figure_height * points)
          : cairo_svg_surface_create(file.c_str(), figure_width, figure_height),
      cairo_surface_destroy);
  if (format == FigureFormat::svg)
    cairo_svg_surface_set_document_unit(surface.get(), CAIRO_SVG_UNIT_PX);
  cairo_status_t status = CAIRO_STATUS_SUCCESS;
  {
    Canvas canvas(surface.get());
    if (png) cairo_scale(canvas.context(), pixels, pixels);
    if (format == FigureFormat::pdf) cairo_scale(canvas.context(), points, points);
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
