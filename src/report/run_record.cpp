#include "report/run_record.h"

#include <algorithm>

#include "base/error.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json parse(const fs::path& path) {
  Json json = Json::parse(read_text(path), nullptr, false);
  if (!json.is_object()) throw UserError("{} is damaged: not a JSON object", path.string());
  return json;
}

// Every k-th of the points, and the last.
Json thinned(const std::vector<std::pair<double, double>>& points, size_t most) {
  Json all = Json::array();
  const size_t step = points.size() / most + 1;
  for (size_t i = 0; i < points.size(); ++i)
    if (i % step == 0 || i + 1 == points.size()) all.push_back({points[i].first, points[i].second});
  return all;
}

Json curves_of(const fs::path& metrics, size_t most) {
  std::map<std::string, std::vector<std::pair<double, double>>> curves;
  if (fs::exists(metrics)) {
    const std::string text = read_text(metrics);
    for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      const Json line = Json::parse(text.begin() + static_cast<int64_t>(at),
                                    text.begin() + static_cast<int64_t>(end), nullptr, false);
      if (!line.is_object()) continue;  // a line that was cut off
      const auto add = [&](const char* curve, const char* x, const char* y) {
        if (line.contains(x) && line.contains(y) && line[x].is_number() && line[y].is_number())
          curves[curve].emplace_back(line[x].get<double>(), line[y].get<double>());
      };
      add("loss", "train/global_step", "train/loss");
      if (line.contains("train/epoch_loss")) {
        add("epoch_loss", "train/global_step", "train/epoch_loss");
        add("accuracy", "train/epoch", "train/accuracy");
        add("seconds", "train/epoch", "train/epoch_seconds");
        add("eval_loss", "train/epoch", "eval/loss");
      }
    }
  }
  if (curves["loss"].empty()) curves["loss"] = curves["epoch_loss"];
  curves.erase("epoch_loss");
  Json json = Json::object();
  for (const auto& [name, points] : curves) json[name] = thinned(points, most);
  return json;
}

// Three steps from the middle of a trace: [rank, what, start ms, length ms].
Json lanes_of(const fs::path& trace) {
  Json lanes = Json::array();
  if (!fs::exists(trace)) return lanes;
  const Json json = Json::parse(read_text(trace), nullptr, false);
  const Json* events = json.is_object() && json.contains("traceEvents") ? &json["traceEvents"]
                       : json.is_array()                                ? &json
                                                                        : nullptr;
  if (!events) return lanes;
  struct Event {
    int64_t rank;
    std::string name;
    double start, length;
  };
  std::vector<Event> all;
  std::vector<double> steps;  // ends of rank 0's updates
  for (const Json& e : *events) {
    if (!e.is_object() || e.value("ph", "") != "X") continue;
    all.push_back({e.value("tid", int64_t{0}), e.value("name", ""), e.value("ts", 0.0) / 1e3,
                   e.value("dur", 0.0) / 1e3});
    if (all.back().rank == 0 && all.back().name == "update")
      steps.push_back(all.back().start + all.back().length);
  }
  if (steps.size() < 5) return lanes;
  std::sort(steps.begin(), steps.end());
  const double from = steps[steps.size() / 2 - 2], until = steps[steps.size() / 2 + 1];
  for (const Event& e : all)
    if (e.start >= from && e.start + e.length <= until && lanes.size() < 2000)
      lanes.push_back({e.rank, e.name, e.start, e.length});
  return lanes;
}

}  // namespace

Json read_run_record(const fs::path& folder, size_t most_points) {
  if (!fs::exists(folder / "summary.json"))
    throw UserError("{} has no summary.json: not a run folder, or a run that has not ended",
                    folder.string());
  Json record{{"name", folder.filename().string()},
              {"path", folder.string()},
              {"summary", parse(folder / "summary.json")},
              {"curves", curves_of(folder / "metrics.jsonl", most_points)},
              {"lanes", lanes_of(folder / "trace.json")}};
  if (fs::exists(folder / "config.toml")) record["config"] = read_text(folder / "config.toml");
  return record;
}

}  // namespace lockstep
