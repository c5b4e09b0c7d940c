#include "report/cairo/figure_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

constexpr double width = figure_width, height = figure_height;
constexpr double left = 76, right = 20, top = 40;
constexpr double legend_row = 16, below_axis = 80;

struct Colour {
  double r, g, b;
};
// Colour-blind safe palette of Okabe and Ito.
constexpr Colour colours[] = {{0.0, 0.447, 0.698},   {0.835, 0.369, 0.0}, {0.0, 0.620, 0.451},
                              {0.800, 0.475, 0.655}, {0.902, 0.624, 0.0}, {0.337, 0.706, 0.914},
                              {0.35, 0.35, 0.35}};

// Larger numbers are left out: the others would be invisible.
bool can_be_drawn(const Figure::Point& p) {
  const auto fits = [](double value) { return std::abs(value) < 1e30; };  // false for NaN
  return fits(p.x) && fits(p.y) && fits(p.low) && fits(p.high);
}

Figure drawable(Figure figure) {
  for (Figure::Series& series : figure.series)
    std::erase_if(series.points, [](const auto& p) { return !can_be_drawn(p); });
  return figure;
}

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
  for (int64_t i = first; i <= last && all.size() < 20; ++i)
    all.push_back(static_cast<double>(i) * step);
  return all;
}

class Drawing {
 public:
  Drawing(const Figure& figure, Canvas& canvas)
      : f_(drawable(figure)), canvas_(canvas), c_(canvas.context()) {}

  void run() {
    canvas_.colour(1, 1, 1);
    cairo_rectangle(c_, 0, 0, width, height);
    cairo_fill(c_);
    bottom_ = below_axis + legend_row * static_cast<double>(legend(false));
    find_range();
    axes();
    for (size_t s = 0; s < f_.series.size(); ++s) bars() ? draw_bars(s) : draw_curve(s);
    legend(true);
  }

 private:
  bool bars() const { return !f_.names.empty(); }

  void find_range() {
    low_x_ = 1e300, high_x_ = -1e300, high_y_ = -1e300;
    if (!f_.from_zero || f_.logarithmic) low_y_ = 1e300;
    for (const auto& series : f_.series)
      for (const auto& p : series.points) {
        low_x_ = std::min(low_x_, p.x);
        high_x_ = std::max(high_x_, p.x);
        high_y_ = std::max({high_y_, p.y, p.high});
        low_y_ = std::min({low_y_, p.y, p.low});
      }
    if (bars()) low_x_ = -0.6, high_x_ = static_cast<double>(f_.names.size()) - 0.4;
    if (low_x_ > high_x_) low_x_ = 0, high_x_ = 1;
    if (high_y_ < low_y_) low_y_ = std::min(low_y_, 1.0), high_y_ = low_y_ + 1;
    widen(low_x_, high_x_, 0.5);
    if (f_.logarithmic) {
      low_y_ /= 1.3;
      high_y_ *= 1.3;
      return;
    }
    widen(low_y_, high_y_, 1);
    const double margin = (high_y_ - low_y_) * 0.08;
    const bool is_share = f_.y_label.ends_with("%") && high_y_ <= 100;
    high_y_ = is_share ? std::min(100.0, high_y_ + margin) : high_y_ + margin;
    if (!f_.from_zero) low_y_ -= margin;
  }
  // Widens a range that is empty, or tiny compared to its ends, so that it can be divided by.
  static void widen(double& low, double& high, double least) {
    const double size = std::max(std::abs(low), std::abs(high));
    if (high - low > size * 1e-9) return;
    const double by = std::max(least, size * 0.5);
    low -= low == 0 ? 0 : by;
    high += by;
  }
  double x(double value) const {
    return left + (value - low_x_) / (high_x_ - low_x_) * (width - left - right);
  }
  double y(double value) const {
    const double share = f_.logarithmic ? (std::log(value) - std::log(low_y_)) /
                                              (std::log(high_y_) - std::log(low_y_))
                                        : (value - low_y_) / (high_y_ - low_y_);
    return height - bottom_ - share * (height - top - bottom_);
  }
  std::vector<double> marks_of_y() const {
    if (!f_.logarithmic) return ticks(low_y_, high_y_, 5);
    const double first = std::floor(std::log10(low_y_)), last = std::log10(high_y_);
    const double decades = last - first;
    const int stride = std::max(1, static_cast<int>(std::ceil(decades / 8)));
    std::vector<double> all;
    for (int exponent = static_cast<int>(first); exponent <= static_cast<int>(std::floor(last));
         exponent += stride)
      for (const double times : {1.0, 2.0, 5.0})
        if (const double value = std::pow(10, exponent) * times;
            value >= low_y_ && value <= high_y_ && (times == 1 || decades <= 4))
          all.push_back(value);
    return all;
  }

  void axes() {
    cairo_set_line_width(c_, 1);
    for (const double value : marks_of_y()) {
      canvas_.colour(0.88, 0.88, 0.88);
      canvas_.line(left, y(value), width - right, y(value));
      canvas_.colour(0.2, 0.2, 0.2);
      canvas_.text(left - 8, y(value) + 4, fmt::format("{:.4g}", value), 12, 1);
    }
    canvas_.colour(0.2, 0.2, 0.2);
    canvas_.line(left, height - bottom_, width - right, height - bottom_);
    if (bars()) {
      for (size_t i = 0; i < f_.names.size(); ++i) {
        const bool many = f_.names.size() > 4;
        canvas_.text(x(static_cast<double>(i)), height - bottom_ + 16,
                     canvas_.fitted(f_.names[i], many ? 10 : 11, many ? 110 : 130), many ? 10 : 11,
                     many ? 1 : 0.5, many ? -0.35 : 0);
      }
    } else {
      std::vector<double> marks;
      for (const auto& series : f_.series)
        for (const auto& p : series.points) marks.push_back(p.x);
      std::sort(marks.begin(), marks.end());
      marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
      if (marks.size() > 10) marks = ticks(low_x_, high_x_, 6);
      for (const double value : marks)
        canvas_.text(x(value), height - bottom_ + 18, fmt::format("{:.4g}", value), 12, 0.5);
    }
    canvas_.text(width / 2, 22, canvas_.fitted(f_.title, 15, width - 20), 15, 0.5);
    if (!bars())
      canvas_.text((left + width - right) / 2, height - bottom_ + 38, f_.x_label, 13, 0.5);
    canvas_.text(18, (top + height - bottom_) / 2, f_.y_label, 13, 0.5, -M_PI / 2);
  }

  // Published series have the colour of the series that they follow.
  const Colour& colour_of(size_t s) const {
    if (f_.series[s].dashed) return colours[6];
    size_t ours = 0;
    for (size_t i = 0; i <= s; ++i) ours += !f_.series[i].published && !f_.series[i].dashed;
    return colours[ours == 0 ? s % 6 : (ours - 1) % 6];
  }
  void use_colour(size_t s) {
    const Colour& c = colour_of(s);
    canvas_.colour(c.r, c.g, c.b);
  }

  void spread(double at, const Figure::Point& p) {
    if (!(p.high > p.low)) return;
    cairo_set_line_width(c_, 1.2);
    canvas_.line(at, y(p.low), at, y(p.high));
    canvas_.line(at - 4, y(p.low), at + 4, y(p.low));
    canvas_.line(at - 4, y(p.high), at + 4, y(p.high));
  }

  // The marker of a point. Measured: filled; oversubscribed or on emulated hosts: hollow;
  // simulated: a square.
  void sign(double at_x, double at_y, RunKind kind) {
    if (kind == RunKind::simulated)
      cairo_rectangle(c_, at_x - 4, at_y - 4, 8, 8);
    else
      cairo_arc(c_, at_x, at_y, 4.2, 0, 2 * M_PI);
    if (is_qualified(kind)) {
      cairo_save(c_);
      canvas_.colour(1, 1, 1);
      cairo_fill_preserve(c_);
      cairo_restore(c_);
      cairo_set_line_width(c_, 1.6);
      cairo_stroke(c_);
    } else {
      cairo_fill(c_);
    }
  }

  void diamond(double at_x, double at_y) {
    constexpr double size = 5.5;
    cairo_move_to(c_, at_x, at_y - size);
    cairo_line_to(c_, at_x + size, at_y);
    cairo_line_to(c_, at_x, at_y + size);
    cairo_line_to(c_, at_x - size, at_y);
    cairo_close_path(c_);
    cairo_save(c_);
    canvas_.colour(1, 1, 1);
    cairo_fill_preserve(c_);
    cairo_restore(c_);
    cairo_set_line_width(c_, 1.6);
    cairo_stroke(c_);
  }

  void draw_curve(size_t s) {
    const Figure::Series& series = f_.series[s];
    use_colour(s);
    cairo_set_line_width(c_, series.published ? 1.2 : 2);
    const double dashes[] = {6, 5}, dots[] = {2, 3};
    cairo_set_dash(c_, series.published ? dots : dashes, series.dashed || series.published ? 2 : 0,
                   0);
    for (size_t i = 0; i < series.points.size(); ++i)
      (i == 0 ? cairo_move_to : cairo_line_to)(c_, x(series.points[i].x), y(series.points[i].y));
    cairo_stroke(c_);
    cairo_set_dash(c_, nullptr, 0, 0);
    for (const Figure::Point& p : series.points) {
      spread(x(p.x), p);
      if (series.published)
        diamond(x(p.x), y(p.y));
      else if (!series.dashed && p.kind)
        sign(x(p.x), y(p.y), *p.kind);
    }
  }

  // Measured: filled; oversubscribed or on emulated hosts: hollow; simulated: pale. Published
  // values are diamonds at their places. If the axis does not begin at 0, bars would mislead:
  // markers.
  void draw_bars(size_t s) {
    if (f_.series[s].published || !f_.from_zero) {
      use_colour(s);
      for (const Figure::Point& p : f_.series[s].points) {
        spread(x(p.x), p);
        f_.series[s].published ? diamond(x(p.x), y(p.y))
                               : sign(x(p.x), y(p.y), p.kind.value_or(RunKind::measured));
      }
      return;
    }
    const auto count = static_cast<double>(std::count_if(
        f_.series.begin(), f_.series.end(), [](const auto& t) { return !t.published; }));
    const double each = 0.72 / count * (x(1) - x(0));
    for (const Figure::Point& p : f_.series[s].points) {
      const Colour& c = colour_of(s);
      const double from = x(p.x) + (static_cast<double>(s) - count / 2) * each;
      const double base = y(std::max(0.0, low_y_));
      cairo_set_line_width(c_, 1.5);
      cairo_rectangle(c_, from + 1, std::min(y(p.y), base), each - 2, std::abs(base - y(p.y)));
      const RunKind kind = p.kind.value_or(RunKind::measured);
      cairo_set_source_rgba(c_, c.r, c.g, c.b, kind == RunKind::simulated ? 0.35 : 1);
      if (!is_qualified(kind)) cairo_fill_preserve(c_);
      use_colour(s);
      cairo_stroke(c_);
      canvas_.colour(0.15, 0.15, 0.15);
      spread(from + each / 2, p);
    }
  }

  bool has(RunKind kind) const {
    return std::any_of(f_.series.begin(), f_.series.end(), [&](const auto& series) {
      return std::any_of(series.points.begin(), series.points.end(),
                         [&](const auto& p) { return p.kind == kind; });
    });
  }

  // Rows of names, and one that explains the markers. Returns the number of rows of names.
  int legend(bool draws) {
    int rows = 1;
    double at = left;
    const double first = height - bottom_ + below_axis - 14;
    for (size_t s = 0; s < f_.series.size(); ++s) {
      const std::string name = canvas_.fitted(f_.series[s].name, 12, 240);
      const double wide = 24 + canvas_.width_of(name, 12) + 18;
      if (at > left && at + wide > width - right) {
        if (rows == most_rows) {
          if (draws)
            canvas_.text(at, first + legend_row * (rows - 1),
                         fmt::format("and {} more", f_.series.size() - s), 12, 0);
          break;
        }
        at = left;
        ++rows;
      }
      if (draws) name_series(s, name, at, first + legend_row * (rows - 1));
      at += wide;
    }
    if (draws) explain_markers();
    return rows;
  }

  void name_series(size_t s, const std::string& name, double at, double row) {
    canvas_.colour(0.2, 0.2, 0.2);
    canvas_.text(at + 24, row, name, 12, 0);
    use_colour(s);
    cairo_set_line_width(c_, 1.5);
    if (f_.series[s].dashed) {
      const double dashes[] = {6, 3};
      cairo_set_dash(c_, dashes, 2, 0);
      canvas_.line(at, row - 4, at + 20, row - 4);
      cairo_set_dash(c_, nullptr, 0, 0);
    } else if (f_.series[s].published) {
      diamond(at + 12, row - 4);
    } else {
      cairo_rectangle(c_, at + 7, row - 9, 10, 10);
      cairo_fill(c_);
    }
  }

  void explain_markers() {
    std::string signs;
    for (const RunKind kind : {RunKind::emulated, RunKind::oversubscribed})
      if (has(kind)) signs += (signs.empty() ? "hollow: " : " or ") + std::string(kind_name(kind));
    if (has(RunKind::simulated))
      signs += std::string(signs.empty() ? "" : ", ") +
               (bars() && f_.from_zero ? "pale: simulated" : "squares: simulated");
    if (!signs.empty() && !f_.note.empty()) signs += "; ";
    canvas_.colour(0.35, 0.35, 0.35);
    canvas_.text(left, height - 10, canvas_.fitted(signs + f_.note, 11, width - left - 6), 11, 0);
  }

  const Figure f_;
  Canvas& canvas_;
  cairo_t* c_;
  static constexpr int most_rows = 6;

  double bottom_ = below_axis + legend_row;  // below the x axis
  double low_x_ = 0, high_x_ = 1, low_y_ = 0, high_y_ = 1;
};

}  // namespace

void draw_figure(const Figure& figure, Canvas& canvas) { Drawing(figure, canvas).run(); }

}  // namespace lockstep
