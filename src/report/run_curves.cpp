#include "report/run_curves.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/strict_json.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr int deepest_line = 5, deepest_trace = 10;
constexpr int64_t most_lanes = 256;

std::optional<Json> parse(const std::string& text, int deepest) {
  try {
    return parse_object<Json>(text, "", deepest);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

// Ignores numbers of 1e30 and more, so that arithmetic on curves stays finite.
std::optional<double> number(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::abs(value) < 1e30 ? std::optional(value) : std::nullopt;
}

Curve thinned(const Curve& points, size_t most) {
  Curve kept;
  const size_t step = points.size() / most + 1;
  for (size_t i = 0; i < points.size(); ++i)
    if (i % step == 0 || i + 1 == points.size()) kept.push_back(points[i]);
  return kept;
}

std::string text(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// Values of metrics.jsonl that make a curve.
struct CurveSource {
  const char *curve, *x, *y;
};
constexpr const char* by_step = "train/global_step";
constexpr CurveSource sources[] = {{"loss", by_step, "train/loss"},
                                   {"learning_rate", by_step, "train/learning_rate"},
                                   {"grad_norm", by_step, "train/grad_norm"},
                                   {"epoch", by_step, "train/epoch"},
                                   {"global_step", "train/epoch", "train/global_step"},
                                   {"eval_loss", by_step, "eval/loss"},
                                   {"eval_runtime", by_step, "eval/runtime"},
                                   {"eval_steps_per_second", by_step, "eval/steps_per_second"},
                                   {"eval_samples_per_second", by_step, "eval/samples_per_second"},
                                   {"epoch_loss", by_step, "train/epoch_loss"},
                                   {"accuracy", "train/epoch", "train/accuracy"},
                                   {"seconds", "train/epoch", "train/epoch_seconds"}};

}  // namespace

std::map<std::string, Curve> read_curves(const fs::path& folder, size_t most_points) {
  const fs::path metrics = folder / "metrics.jsonl";
  std::map<std::string, Curve> curves;
  if (!fs::is_regular_file(metrics)) return curves;
  const std::string content = read_text(metrics);
  for (size_t at = 0, end; (end = content.find('\n', at)) != std::string::npos; at = end + 1) {
    const auto line = parse(content.substr(at, end - at), deepest_line);
    if (!line) continue;
    const auto add = [&](const char* curve, const char* x, const char* y) {
      const auto at_x = number(*line, x), at_y = number(*line, y);
      if (at_x && at_y) curves[curve].emplace_back(*at_x, *at_y);
    };
    for (const CurveSource& source : sources) add(source.curve, source.x, source.y);
  }
  if (!curves.contains("loss") && curves.contains("epoch_loss"))
    curves["loss"] = curves["epoch_loss"];
  curves.erase("epoch_loss");
  for (auto& [name, points] : curves) points = thinned(points, most_points);
  return curves;
}

std::map<std::string, std::string> curve_axes() {
  std::map<std::string, std::string> axes;
  for (const CurveSource& source : sources)
    axes[source.curve] = source.x == std::string_view(by_step) ? "step" : "epoch";
  return axes;
}

std::vector<LaneEvent> read_lanes(const fs::path& folder) {
  if (!fs::is_regular_file(folder / "trace.json")) return {};
  // Wrapped into an object: a trace may also be an array of events.
  const auto trace = parse("{\"trace\":" + read_text(folder / "trace.json") + "}", deepest_trace);
  if (!trace) return {};
  const Json& whole = (*trace)["trace"];
  const Json* events = &whole;
  if (whole.is_object() && whole.contains("traceEvents")) events = &whole["traceEvents"];
  if (!events->is_array()) return {};
  std::vector<LaneEvent> all;
  std::vector<double> steps;  // ends of rank 0's updates
  for (const Json& e : *events) {
    if (!e.is_object() || text(e, "ph") != "X") continue;
    const auto start = number(e, "ts"), length = number(e, "dur"), rank = number(e, "tid");
    if (!start || !length || !rank || !(*rank >= 0 && *rank < most_lanes)) continue;
    all.push_back({static_cast<int64_t>(*rank), text(e, "name"), *start / 1e3, *length / 1e3});
    if (all.back().rank == 0 && all.back().name == "update")
      steps.push_back(all.back().start_ms + all.back().length_ms);
  }
  if (steps.size() < 5) return {};
  std::sort(steps.begin(), steps.end());
  const double from = steps[steps.size() / 2 - 2], until = steps[steps.size() / 2 + 1];
  std::vector<LaneEvent> shown;
  for (const LaneEvent& e : all)
    if (e.start_ms >= from && e.start_ms + e.length_ms <= until && shown.size() < 2000)
      shown.push_back(e);
  return shown;
}

}  // namespace lockstep
