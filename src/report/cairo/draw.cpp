#include <cairo/cairo-svg.h>
#include <cairo/cairo.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "report/cairo/library.h"

namespace lockstep {
namespace {

constexpr double width = 640, height = 420, left = 76, right = 20, top = 40, bottom = 92;
constexpr double pixels = 2;  // of a PNG for each unit

struct Colour {
  double r, g, b;
};
// Told apart by people who do not see all colours (Okabe and Ito).
constexpr Colour colours[] = {{0.0, 0.447, 0.698},   {0.835, 0.369, 0.0}, {0.0, 0.620, 0.451},
                              {0.800, 0.475, 0.655}, {0.902, 0.624, 0.0}, {0.337, 0.706, 0.914},
                              {0.35, 0.35, 0.35}};

// Round numbers that cover a range in about `wanted` steps.
std::vector<double> ticks(double low, double high, int wanted) {
  const double raw = (high - low) / wanted, power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double nice : {1.0, 2.0, 5.0})
    if (nice * power >= raw) {
      step = nice * power;
      break;
    }
  std::vector<double> all;
  const auto first = static_cast<int64_t>(std::ceil(low / step));
  const auto last = static_cast<int64_t>(std::floor(high / step + 1e-9));
  for (int64_t i = first; i <= last; ++i) all.push_back(static_cast<double>(i) * step);
  return all;
}

class Drawing {
 public:
  Drawing(const Figure& figure, cairo_t* context) : f_(figure), c_(context) {}

  void run() {
    cairo_set_source_rgb(c_, 1, 1, 1);
    cairo_paint(c_);
    cairo_select_font_face(c_, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    find_range();
    axes();
    for (size_t s = 0; s < f_.series.size(); ++s) bars() ? draw_bars(s) : draw_curve(s);
    legend();
  }

 private:
  bool bars() const { return !f_.names.empty(); }

  void find_range() {
    low_x_ = 1e300, high_x_ = -1e300, high_y_ = -1e300;
    for (const auto& series : f_.series)
      for (const auto& p : series.points) {
        low_x_ = std::min(low_x_, p.x);
        high_x_ = std::max(high_x_, p.x);
        high_y_ = std::max({high_y_, p.y, p.high});
        low_y_ = std::min({low_y_, p.y, p.low});
      }
    if (bars()) low_x_ = -0.6, high_x_ = static_cast<double>(f_.names.size()) - 0.4;
    if (low_x_ > high_x_) low_x_ = 0, high_x_ = 1;
    if (low_x_ == high_x_) low_x_ -= 0.5, high_x_ += 0.5;
    if (!(high_y_ > low_y_)) high_y_ = low_y_ + 1;
    high_y_ += (high_y_ - low_y_) * 0.08;
  }
  double x(double value) const {
    return left + (value - low_x_) / (high_x_ - low_x_) * (width - left - right);
  }
  double y(double value) const {
    return height - bottom - (value - low_y_) / (high_y_ - low_y_) * (height - top - bottom);
  }

  // align: 0 from here on, 0.5 centred, 1 up to here
  void text(double at_x, double at_y, const std::string& words, double size, double align,
            double angle = 0) {
    cairo_save(c_);
    cairo_set_font_size(c_, size);
    cairo_text_extents_t extents;
    cairo_text_extents(c_, words.c_str(), &extents);
    cairo_translate(c_, at_x, at_y);
    cairo_rotate(c_, angle);
    cairo_move_to(c_, -extents.x_advance * align, 0);
    cairo_show_text(c_, words.c_str());
    cairo_restore(c_);
  }
  void line(double x0, double y0, double x1, double y1) {
    cairo_move_to(c_, x0, y0);
    cairo_line_to(c_, x1, y1);
    cairo_stroke(c_);
  }

  void axes() {
    cairo_set_line_width(c_, 1);
    for (const double value : ticks(low_y_, high_y_, 5)) {
      cairo_set_source_rgb(c_, 0.88, 0.88, 0.88);
      line(left, y(value), width - right, y(value));
      cairo_set_source_rgb(c_, 0.2, 0.2, 0.2);
      text(left - 8, y(value) + 4, fmt::format("{:.4g}", value), 12, 1);
    }
    cairo_set_source_rgb(c_, 0.2, 0.2, 0.2);
    line(left, height - bottom, width - right, height - bottom);
    if (bars()) {
      for (size_t i = 0; i < f_.names.size(); ++i) {
        const std::string name =
            f_.names[i].size() > 28 ? f_.names[i].substr(0, 27) + "…" : f_.names[i];
        const bool many = f_.names.size() > 4;
        text(x(static_cast<double>(i)), height - bottom + 16, name, many ? 10 : 11, many ? 1 : 0.5,
             many ? -0.35 : 0);
      }
    } else {
      std::vector<double> marks;
      for (const auto& series : f_.series)
        for (const auto& p : series.points) marks.push_back(p.x);
      std::sort(marks.begin(), marks.end());
      marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
      if (marks.size() > 10) marks = ticks(low_x_, high_x_, 6);
      for (const double value : marks)
        text(x(value), height - bottom + 18, fmt::format("{:.4g}", value), 12, 0.5);
    }
    text(width / 2, 22, f_.title, 15, 0.5);
    if (!bars()) text((left + width - right) / 2, height - bottom + 38, f_.x_label, 13, 0.5);
    text(18, (top + height - bottom) / 2, f_.y_label, 13, 0.5, -M_PI / 2);
  }

  void use_colour(size_t s) {
    const Colour& c = f_.series[s].dashed ? colours[6] : colours[s % 6];
    cairo_set_source_rgb(c_, c.r, c.g, c.b);
  }

  void spread(double at, const Figure::Point& p) {
    if (!(p.high > p.low)) return;
    cairo_set_line_width(c_, 1.2);
    line(at, y(p.low), at, y(p.high));
    line(at - 4, y(p.low), at + 4, y(p.low));
    line(at - 4, y(p.high), at + 4, y(p.high));
  }

  // Measured: full; oversubscribed: hollow; simulated: a square.
  void sign(double at_x, double at_y, const std::string& mark) {
    if (mark == "simulated")
      cairo_rectangle(c_, at_x - 4, at_y - 4, 8, 8);
    else
      cairo_arc(c_, at_x, at_y, 4.2, 0, 2 * M_PI);
    if (mark == "oversubscribed") {
      cairo_save(c_);
      cairo_set_source_rgb(c_, 1, 1, 1);
      cairo_fill_preserve(c_);
      cairo_restore(c_);
      cairo_set_line_width(c_, 1.6);
      cairo_stroke(c_);
    } else {
      cairo_fill(c_);
    }
  }

  void draw_curve(size_t s) {
    const Figure::Series& series = f_.series[s];
    use_colour(s);
    cairo_set_line_width(c_, 2);
    const double dashes[] = {6, 5};
    cairo_set_dash(c_, dashes, series.dashed ? 2 : 0, 0);
    for (size_t i = 0; i < series.points.size(); ++i)
      (i == 0 ? cairo_move_to : cairo_line_to)(c_, x(series.points[i].x), y(series.points[i].y));
    cairo_stroke(c_);
    cairo_set_dash(c_, nullptr, 0, 0);
    for (const Figure::Point& p : series.points) {
      spread(x(p.x), p);
      if (!series.dashed && p.mark != "line") sign(x(p.x), y(p.y), p.mark);
    }
  }

  void draw_bars(size_t s) {
    const double count = static_cast<double>(f_.series.size());
    const double each = 0.72 / count * (x(1) - x(0));
    for (const Figure::Point& p : f_.series[s].points) {
      use_colour(s);
      const double from = x(p.x) + (static_cast<double>(s) - count / 2) * each;
      cairo_rectangle(c_, from + 1, y(p.y), each - 2, y(std::max(0.0, low_y_)) - y(p.y));
      if (p.mark == "oversubscribed" || f_.series[s].dashed) {
        cairo_set_line_width(c_, 1.5);
        const double dashes[] = {4, 3};
        cairo_set_dash(c_, dashes, f_.series[s].dashed ? 2 : 0, 0);
        cairo_stroke(c_);
        cairo_set_dash(c_, nullptr, 0, 0);
      } else {
        cairo_fill(c_);
      }
      cairo_set_source_rgb(c_, 0.15, 0.15, 0.15);
      spread(from + each / 2, p);
    }
  }

  void legend() {
    double at = left;
    const double row = height - 14;
    for (size_t s = 0; s < f_.series.size(); ++s) {
      use_colour(s);
      cairo_rectangle(c_, at, row - 9, 10, 10);
      f_.series[s].dashed ? cairo_stroke(c_) : cairo_fill(c_);
      cairo_set_source_rgb(c_, 0.2, 0.2, 0.2);
      text(at + 15, row, f_.series[s].name, 12, 0);
      cairo_text_extents_t extents;
      cairo_set_font_size(c_, 12);
      cairo_text_extents(c_, f_.series[s].name.c_str(), &extents);
      at += 15 + extents.x_advance + 18;
    }
    const bool hollow = std::any_of(f_.series.begin(), f_.series.end(), [](const auto& series) {
      return std::any_of(series.points.begin(), series.points.end(),
                         [](const auto& p) { return p.mark == "oversubscribed"; });
    });
    if (hollow) text(width - right, row, "hollow: oversubscribed", 11, 1);
  }

  const Figure& f_;
  cairo_t* c_;
  double low_x_ = 0, high_x_ = 1, low_y_ = 0, high_y_ = 1;
};

void draw_to_file(const Figure& figure, const fs::path& file, bool png) {
  using Surface = std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)>;
  const Surface surface(
      png ? cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width * pixels),
                                       static_cast<int>(height * pixels))
          : cairo_svg_surface_create(file.c_str(), width, height),
      cairo_surface_destroy);
  if (!png) cairo_svg_surface_set_document_unit(surface.get(), CAIRO_SVG_UNIT_PX);
  cairo_t* context = cairo_create(surface.get());
  if (png) cairo_scale(context, pixels, pixels);
  Drawing(figure, context).run();
  cairo_destroy(context);
  cairo_status_t status = cairo_surface_status(surface.get());
  if (status == CAIRO_STATUS_SUCCESS && png)
    status = cairo_surface_write_to_png(surface.get(), file.c_str());
  cairo_surface_finish(surface.get());
  if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_status(surface.get());
  if (status != CAIRO_STATUS_SUCCESS)
    throw Failure("cannot write {}: {}", file.string(), cairo_status_to_string(status));
}

}  // namespace
}  // namespace lockstep

const lockstep::FigureLibrary lockstep_figures_library = {.draw = lockstep::draw_to_file};
