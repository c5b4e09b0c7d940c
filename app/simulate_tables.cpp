#include "simulate_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

// Against the first point: it has the fewest ranks.
std::vector<std::string> row_of(const Prediction& r, const Prediction& first) {
  const double speed_up = first.total_seconds / r.total_seconds;
  const double more = static_cast<double>(r.ranks) / static_cast<double>(first.ranks);
  return {std::to_string(r.ranks),
          std::to_string(r.nodes),
          fmt::format("{:.2f}", r.step_seconds * 1e3),
          fmt::format("{:.2f}-{:.2f}", r.low * 1e3, r.high * 1e3),
          short_time(r.epoch_seconds),
          short_time(r.total_seconds),
          fmt::format("{:.2f}", speed_up),
          fmt::format("{:.0f}%", speed_up / more * 100),
          fmt::format("{:.1f}", (1 - 1 / speed_up) * 100),
          fmt::format("{:.2f}", (r.times.exposed + r.times.waiting) * 1e3),
          fmt::format("{:.2f}", r.times.hidden * 1e3),
          fmt::format("{:.0f}", r.memory.sum() / 1e6)};
}

// More ranks than these only take longer.
void print_turning_point(const std::vector<Prediction>& results) {
  const auto best = std::min_element(
      results.begin(), results.end(),
      [](const auto& a, const auto& b) { return a.total_seconds < b.total_seconds; });
  if (results.size() < 2) return;
  if (best + 1 != results.end())
    fmt::print("beyond {} ranks more ranks lose: {} takes {}, {} takes {}\n", best->ranks,
               best->ranks, short_time(best->total_seconds), (best + 1)->ranks,
               short_time((best + 1)->total_seconds));
  else
    fmt::print("more ranks gain up to the {} that were simulated\n", best->ranks);
}

}  // namespace

nlohmann::ordered_json to_json(const Prediction& r) {
  return {{"ranks", r.ranks},
          {"nodes", r.nodes},
          {"threads", r.threads},
          {"global_batch", r.global_batch},
          {"simulated", true},
          {"oversubscribed", r.oversubscribed},
          {"step_seconds", r.step_seconds},
          {"step_seconds_low", r.low},
          {"step_seconds_high", r.high},
          {"epoch_seconds", r.epoch_seconds},
          {"total_seconds", r.total_seconds},
          {"compute_seconds", r.times.compute},
          {"exposed_communication_seconds", r.times.exposed},
          {"hidden_communication_seconds", r.times.hidden},
          {"waiting_seconds", r.times.waiting},
          {"loading_seconds", r.times.load},
          {"memory_bytes_per_rank", r.memory.sum()},
          {"cautions", r.cautions}};
}

void print_predictions(const std::vector<SimulatedPoint>& points,
                       const std::vector<Prediction>& predictions) {
  std::vector<std::vector<std::string>> rows = {{"ranks", "nodes", "step ms", "band", "epoch",
                                                 "total", "speed-up", "efficiency", "PI %",
                                                 "exposed ms", "hidden ms", "MB/rank"}};
  // Which of several strategies and backends, where there are several.
  const auto what = [&](const SimulatedPoint& p) {
    return p.config.parallel.strategy + ", " + p.config.parallel.backend;
  };
  const bool many = std::any_of(points.begin(), points.end(), [&](const SimulatedPoint& p) {
    return what(p) != what(points.front()) && p.config.parallel.ranks > 1;
  });
  for (size_t i = 0; i < predictions.size(); ++i) {
    rows.push_back(row_of(predictions[i], predictions.front()));
    if (many) rows.back().insert(rows.back().begin(), what(points[i]));
  }
  if (many) rows[0].insert(rows[0].begin(), "strategy");
  fmt::print("{}", table(rows));
  if (!many) print_turning_point(predictions);
  for (const Prediction& r : predictions)
    if (r.lost_seconds > 0)
      fmt::print(
          "{} ranks: the failure costs {}, with checkpoints as configured; the best interval "
          "between "
          "checkpoints is {} ({} steps), where one such failure is expected in that time\n",
          r.ranks, short_time(r.lost_seconds), short_time(r.checkpoint_interval),
          static_cast<int64_t>(std::ceil(r.checkpoint_interval / r.step_seconds)));
}

void print_cautions(const std::vector<Prediction>& predictions) {
  std::vector<std::string> said;
  for (const Prediction& r : predictions)
    for (const std::string& caution : r.cautions)
      if (std::find(said.begin(), said.end(), caution) == said.end()) said.push_back(caution);
  for (const std::string& caution : said) fmt::print("note: {}\n", caution);
}

void print_validation(const std::vector<Validated>& all, bool json) {
  std::vector<double> errors;
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows = {
      {"strategy", "backend", "ranks", "simulated ms", "measured ms", "error"}};
  for (const Validated& v : all) {
    const ParallelConfig& p = v.point.config.parallel;
    errors.push_back(std::abs(v.error()));
    rows.push_back({p.strategy, p.backend, std::to_string(p.ranks),
                    fmt::format("{:.4f}", v.predicted.step_seconds * 1e3),
                    fmt::format("{:.4f}", v.measured * 1e3),
                    fmt::format("{:+.1f}%", v.error() * 100)});
    list.push_back({{"name", v.point.config.name},
                    {"strategy", p.strategy},
                    {"backend", p.backend},
                    {"ranks", p.ranks},
                    {"predicted_step_seconds", v.predicted.step_seconds},
                    {"measured_step_seconds", v.measured},
                    {"error", v.error()}});
  }
  std::sort(errors.begin(), errors.end());
  const double median = errors[errors.size() / 2], largest = errors.back();
  if (json) {
    fmt::print("{}\n",
               Json{{"cases", list}, {"median_error", median}, {"largest_error", largest}}.dump(2));
    return;
  }
  fmt::print("steps of {}, undisturbed: simulated, and measured on this machine\n\n{}",
             all.front().point.config.name, table(rows));
  fmt::print("median error {:.1f}%, largest {:.1f}%; logged in {}\n", median * 100, largest * 100,
             validation_log().string());
}

void print_numerics(const std::vector<nlohmann::ordered_json>& summaries) {
  std::vector<std::vector<std::string>> rows = {
      {"ranks", "test accuracy", "test loss", "epoch", "total", "speed-up", "PI %", "staleness"}};
  const double first = summaries.front().at("total_seconds").get<double>();
  const auto number = [](const Json& json, const char* key) {
    return json.contains(key) && json[key].is_number() ? json[key].get<double>() : std::nan("");
  };
  for (const Json& s : summaries) {
    const Json parallel = s.value("parallel", Json::object());
    const double total = s.at("total_seconds").get<double>();
    const double accuracy = number(s, "test_accuracy"), stale = number(parallel, "staleness_mean");
    rows.push_back({std::to_string(parallel.value("ranks", s.value("ranks", 1))),
                    std::isnan(accuracy) ? "" : percent(accuracy),
                    fmt::format("{:.4f}", number(s, "test_loss")),
                    s.contains("epoch_seconds") && !s["epoch_seconds"].empty()
                        ? short_time(s["epoch_seconds"].back().get<double>())
                        : "",
                    short_time(total), fmt::format("{:.2f}", first / total),
                    fmt::format("{:.1f}", (1 - total / first) * 100),
                    std::isnan(stale) ? "" : fmt::format("{:.2f}", stale)});
  }
  fmt::print("{}", table(rows));
}

}  // namespace lockstep
