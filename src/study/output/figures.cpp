#include "study/output/figures.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "report/run_curves.h"
#include "study/results/columns.h"
#include "study/results/comparison.h"

namespace lockstep {
namespace {

// Times that differ by more than this factor are drawn on a logarithmic axis.
constexpr double widest_linear = 20;

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || std::from_chars(text.data(), end, value).ptr != end) return std::nullopt;
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<double> published_number(const StudyResults& r, const StudyPoint& point,
                                       const std::string& column) {
  const PublishedPoint* published = published_of(r, point);
  if (!published) return std::nullopt;
  const auto found = published->values.find(column);
  return found == published->values.end() ? std::nullopt : std::optional(found->second.number);
}

// Whether some runs have the settings that values were published for.
bool is_comparable(const StudyResults& r) {
  return std::any_of(r.points.begin(), r.points.end(),
                     [](const PointResult& p) { return p.point.differs.empty(); });
}

std::string axis_name(const std::string& key) { return key.substr(key.rfind('.') + 1); }

// Fractions are drawn as percentages.
double scale_of_axis(const ColumnKind& column) { return column.percentage ? 100 : 1; }

void use_logarithm_if_wide(Figure& figure) {
  double least = 1e300, most = 0;
  for (const Figure::Series& series : figure.series)
    for (const Figure::Point& p : series.points) {
      least = std::min(least, p.low);
      most = std::max(most, p.y);
    }
  figure.logarithmic = least > 0 && most > widest_linear * least;
  if (figure.logarithmic && !figure.names.empty()) figure.from_zero = false;  // bars need a zero
}

// The curves of a figure. Points of a curve that have the same x are drawn as separate curves.
class Curves {
 public:
  Curves(const StudyResults& r, const FigureSpec& spec) : r_(r), spec_(spec) {}

  Figure draw() {
    Figure figure{.title = spec_.title,
                  .x_label = axis_name(spec_.x),
                  .y_label = y_label(),
                  .names = {},
                  .series = {},
                  .note = ""};
    for (const std::string& column : spec_.columns) {
      std::vector<Figure::Series> ours, published;
      for (const PointResult& p : r_.points) add(p, column_named(column), ours, published);
      // The published curve follows ours, whose colour it has.
      for (Figure::Series& series : ours) {
        const auto same = std::find_if(published.begin(), published.end(), [&](const auto& other) {
          return other.name == published_name(series.name);
        });
        figure.series.push_back(std::move(series));
        if (same == published.end()) continue;
        figure.series.push_back(std::move(*same));
        published.erase(same);
      }
      for (Figure::Series& series : published) figure.series.push_back(std::move(series));
      if (spec_.ideal == Ideal::flat) add_flat(figure);
      add_references(column, figure);
    }
    for (Figure::Series& series : figure.series)
      std::sort(series.points.begin(), series.points.end(),
                [](const auto& a, const auto& b) { return a.x < b.x; });
    return figure;
  }

 private:
  std::string y_label() const {
    std::string label;
    for (const std::string& column : spec_.columns) {
      const ColumnKind kind = column_named(column);
      label += (label.empty() ? "" : ", ") + title_of(kind, r_) + (kind.percentage ? " %" : "");
    }
    return label;
  }

  std::string name_of(const PointResult& p, const ColumnKind& column) const {
    std::string name = curve_of(r_, p.point, spec_.x, spec_.where);
    if (spec_.columns.size() > 1) name = column.title + (name.empty() ? "" : ", " + name);
    return name.empty() ? own_name : name;
  }

  static std::string published_name(const std::string& name) {
    return name == own_name ? "published" : name + ", published";
  }

  static void add_to(std::vector<Figure::Series>& all, const std::string& name, bool published,
                     const std::string& label, const Figure::Point& point) {
    const auto named = [&](const std::string& wanted) {
      return std::find_if(all.begin(), all.end(), [&](const auto& s) { return s.name == wanted; });
    };
    auto series = named(name);
    const bool taken = series != all.end() &&
                       std::any_of(series->points.begin(), series->points.end(),
                                   [&](const Figure::Point& other) { return other.x == point.x; });
    if (taken) series = named(label);
    if (series == all.end())
      series = all.insert(
          all.end(),
          {.name = taken ? label : name, .points = {}, .dashed = false, .published = published});
    series->points.push_back(point);
  }

  void add(const PointResult& p, const ColumnKind& column, std::vector<Figure::Series>& ours,
           std::vector<Figure::Series>& published) const {
    if (!is_selected(p.point, spec_.where)) return;
    const auto x = number_of(p.point.value(spec_.x));
    if (!x) return;
    const double scale = scale_of_axis(column);
    const std::string name = name_of(p, column);
    if (const auto found = p.values.find(column.name); found != p.values.end()) {
      const Spread& s = found->second;
      add_to(ours, name, false, p.point.label,
             {*x, s.median * scale, s.low * scale, s.high * scale, p.kind()});
    }
    if (const auto value = published_number(r_, p.point, column.name)) {
      const double y = *value * scale;
      add_to(published, published_name(name), true, published_name(p.point.label),
             {*x, y, y, y, std::nullopt});
    }
  }

  // Published values of what is not run here have no x: a level.
  void add_references(const std::string& column, Figure& figure) const {
    double least = 1e300, most = -1e300;
    for (const Figure::Series& series : figure.series)
      for (const Figure::Point& p : series.points) {
        least = std::min(least, p.x);
        most = std::max(most, p.x);
      }
    for (const PublishedPoint& p : r_.study.published) {
      const auto found = p.values.find(column);
      if (!p.reference || found == p.values.end() || least > most || !is_comparable(r_)) continue;
      const double y = found->second.number * scale_of_axis(column_named(column));
      Figure::Series level{.name = p.label + ", published", .points = {}, .published = true};
      for (const double x : {least, most}) level.points.push_back({x, y, y, y, std::nullopt});
      figure.series.push_back(std::move(level));
    }
  }

  // Level at the smallest x of the curve drawn last.
  static void add_flat(Figure& figure) {
    const auto ours = std::find_if(figure.series.rbegin(), figure.series.rend(),
                                   [](const auto& s) { return !s.published && !s.dashed; });
    if (ours == figure.series.rend() || ours->points.size() < 2) return;
    const auto by_x = [](const Figure::Point& a, const Figure::Point& b) { return a.x < b.x; };
    const auto [first, last] = std::minmax_element(ours->points.begin(), ours->points.end(), by_x);
    Figure::Series ideal{.name = ours->name + ", ideal", .points = {}, .dashed = true};
    for (const double x : {first->x, last->x})
      ideal.points.push_back({x, first->y, first->y, first->y, std::nullopt});
    figure.series.push_back(std::move(ideal));
  }

  static constexpr const char* own_name = "Lockstep";

  const StudyResults& r_;
  const FigureSpec& spec_;
};

// A curve of the first run of each point, with published points if all runs have the settings that
// these were published for.
Figure curve_of_runs(const StudyResults& r, const FigureSpec& spec) {
  constexpr size_t most_points = 300;
  Figure figure{.title = spec.title,
                .x_label = curve_axes().at(spec.curve),
                .y_label = spec.title,
                .names = {},
                .series = {},
                .note = "",
                .from_zero = false};
  bool comparable = true;
  for (const PointResult& p : r.points) {
    if (p.runs.empty() || !is_selected(p.point, spec.where)) continue;
    comparable = comparable && p.point.differs.empty();
    const auto curves = read_curves(p.runs.front().path, most_points);
    const auto found = curves.find(spec.curve);
    if (found == curves.end()) continue;
    Figure::Series series{.name = p.point.label, .points = {}};
    for (const auto& [x, y] : found->second) series.points.push_back({x, y, y, y, std::nullopt});
    figure.series.push_back(std::move(series));
  }
  if (figure.series.empty() || spec.published.empty() || !comparable) return figure;
  Figure::Series published{.name = "published", .points = {}, .dashed = false, .published = true};
  for (const auto& [x, y] : spec.published) published.points.push_back({x, y, y, y, std::nullopt});
  figure.series.push_back(std::move(published));
  return figure;
}

Figure curves(const StudyResults& r, const std::string& column, const std::string& title) {
  const FigureSpec spec{.name = column, .title = title, .x = r.study.scale, .columns = {column}};
  return Curves(r, spec).draw();
}

// From the smallest to the largest x, in proportion.
void add_ideal_speed_up(Figure& figure) {
  double least = 1e300, most = 0;
  for (const Figure::Series& series : figure.series)
    for (const Figure::Point& p : series.points) {
      least = std::min(least, p.x);
      most = std::max(most, p.x);
    }
  if (!(most > least && least > 0)) return;
  Figure::Series ideal{.name = "ideal", .points = {}, .dashed = true};
  for (const double n : {least, most})
    ideal.points.push_back({n, n / least, n / least, n / least, std::nullopt});
  figure.series.push_back(std::move(ideal));
}

Figure bars(const StudyResults& r, const std::string& column, const std::string& title,
            const Selection& where = {}) {
  const ColumnKind kind = column_named(column);
  const double scale = scale_of_axis(kind);
  Figure figure{.title = title,
                .x_label = "",
                .y_label = kind.title + (kind.percentage ? " %" : ""),
                .names = {},
                .series = {{.name = "Lockstep", .points = {}}},
                .note = ""};
  Figure::Series published{.name = "published", .points = {}, .dashed = false, .published = true};
  for (const PointResult& p : r.points) {
    const auto found = p.values.find(column);
    const auto theirs = published_number(r, p.point, column);
    if ((found == p.values.end() && !theirs) || !is_selected(p.point, where)) continue;
    const auto at = static_cast<double>(figure.names.size());
    if (found != p.values.end()) {
      const Spread& s = found->second;
      figure.series[0].points.push_back(
          {at, s.median * scale, s.low * scale, s.high * scale, p.kind()});
    }
    if (theirs) {
      const double y = *theirs * scale;
      published.points.push_back({at, y, y, y, std::nullopt});
    }
    figure.names.push_back(p.point.label);
  }
  for (const PublishedPoint& p : r.study.published) {
    const auto found = p.values.find(column);
    if (!p.reference || found == p.values.end() || !is_comparable(r)) continue;
    const double y = found->second.number * scale;
    published.points.push_back({static_cast<double>(figure.names.size()), y, y, y, std::nullopt});
    figure.names.push_back(p.label);
  }
  if (!published.points.empty()) figure.series.push_back(std::move(published));
  return figure;
}

Figure figure_of(const StudyResults& r, const FigureSpec& spec) {
  const bool is_bars = spec.curve.empty() && spec.x.empty();
  Figure figure = !spec.curve.empty() ? curve_of_runs(r, spec)
                  : is_bars           ? bars(r, spec.columns.front(), spec.title, spec.where)
                                      : Curves(r, spec).draw();
  // Accuracies are close to each other: the axis begins where they do.
  if (spec.curve.empty())
    figure.from_zero =
        !std::all_of(spec.columns.begin(), spec.columns.end(),
                     [](const std::string& column) { return column_named(column).percentage; });
  use_logarithm_if_wide(figure);
  return figure;
}

}  // namespace

std::vector<std::pair<std::string, Figure>> results_figures(const StudyResults& r) {
  std::vector<std::pair<std::string, Figure>> all;
  for (const FigureSpec& spec : r.study.figures) {
    all.emplace_back(spec.name, figure_of(r, spec));
    if (all.back().second.series.empty()) all.pop_back();
  }
  const bool scales = has_scale(r);
  if (r.study.figures.empty()) {
    const std::string time = column_named(r.study.time).figure_title();
    all.emplace_back("time", scales ? curves(r, r.study.time, time) : bars(r, r.study.time, time));
    use_logarithm_if_wide(all.back().second);
    if (scales) {
      const ScalingTitle scaling = scaling_title(r);
      all.emplace_back("speed-up", curves(r, "speed_up", scaling.title));
      add_ideal_speed_up(all.back().second);
      all.back().second.note = scaling.note;
    }
  }
  const bool has_own = std::any_of(all.begin(), all.end(),
                                   [](const auto& figure) { return figure.first == "accuracy"; });
  if (has_own) return all;
  for (const char* accuracy : {"test_accuracy", "fold_accuracy", "precision_at_10"}) {
    const auto& columns = r.study.columns;
    if (std::find(columns.begin(), columns.end(), accuracy) == columns.end()) continue;
    const std::string title = column_named(accuracy).title;
    all.emplace_back("accuracy", scales ? curves(r, accuracy, title) : bars(r, accuracy, title));
    all.back().second.from_zero = false;
    break;
  }
  return all;
}

}  // namespace lockstep
