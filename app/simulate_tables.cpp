#include "simulate_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/error_summary.h"
#include "text.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

std::string ranks_text(int64_t ranks) {
  return fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s");
}

std::vector<std::string> row_of(const Prediction& r, const Prediction& baseline) {
  const double speed_up = baseline.total_seconds / r.total_seconds;
  const double more = static_cast<double>(r.ranks) / static_cast<double>(baseline.ranks);
  return {std::to_string(r.ranks),
          std::to_string(r.nodes),
          fmt::format("{:.2f}", r.step_seconds * 1e3),
          fmt::format("{:.2f}-{:.2f}", r.low * 1e3, r.high * 1e3),
          fmt::format("{:.2f}", r.undisturbed_step_seconds * 1e3),
          short_time(r.epoch_seconds),
          short_time(r.total_seconds),
          fmt::format("{:.2f}", speed_up),
          fmt::format("{:.0f}%", speed_up / more * 100),
          fmt::format("{:.1f}", (1 - 1 / speed_up) * 100),
          fmt::format("{:.2f}", (r.times.exposed + r.times.waiting) * 1e3),
          fmt::format("{:.2f}", r.times.hidden * 1e3),
          fmt::format("{:.0f}", r.memory.sum() / 1e6)};
}

// Prints the number of ranks beyond which training takes longer. Only if ranks are all different.
void print_turning_point(std::vector<Prediction> all, const Prediction& baseline) {
  if (std::ranges::none_of(all, [&](const auto& r) { return r.ranks == baseline.ranks; }))
    all.push_back(baseline);
  std::ranges::stable_sort(all, {}, &Prediction::ranks);
  const auto same_ranks = std::ranges::adjacent_find(
      all, [](const auto& a, const auto& b) { return a.ranks == b.ranks; });
  if (all.size() < 2 || same_ranks != all.end()) return;
  const auto best = std::ranges::min_element(all, {}, &Prediction::total_seconds);
  if (best + 1 != all.end())
    fmt::print("fastest with {}: {}; {} take {}\n", ranks_text(best->ranks),
               short_time(best->total_seconds), ranks_text((best + 1)->ranks),
               short_time((best + 1)->total_seconds));
  else
    fmt::print("more ranks are faster, up to the {} simulated\n", best->ranks);
}

}  // namespace

nlohmann::ordered_json to_json(const Prediction& r) {
  return {{"ranks", r.ranks},
          {"nodes", r.nodes},
          {"threads", r.threads},
          {"global_batch", r.global_batch},
          {"simulated", true},
          {"oversubscribed", r.oversubscribed},
          {"disturbed", r.disturbed},
          {"extrapolated", r.extrapolated},
          {"step_seconds", r.step_seconds},
          {"undisturbed_step_seconds", r.undisturbed_step_seconds},
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
                       const std::vector<Prediction>& predictions, const Prediction& baseline) {
  std::vector<std::vector<std::string>> rows = {
      {"ranks", "nodes", "step ms", "band", "undisturbed", "epoch", "total",
       "speed-up over " + ranks_text(baseline.ranks), "efficiency", "PI %", "exposed ms",
       "hidden ms", "MB/rank"}};
  // Strategy and backend get a column if they differ between points.
  const auto what = [&](const SimulatedPoint& p) {
    return fmt::format("{}, {}", p.config.parallel.strategy, to_text(p.config.parallel.backend));
  };
  const bool many = std::any_of(points.begin(), points.end(), [&](const SimulatedPoint& p) {
    return what(p) != what(points.front()) && p.config.parallel.ranks > 1;
  });
  for (size_t i = 0; i < predictions.size(); ++i) {
    rows.push_back(row_of(predictions[i], baseline));
    if (many) rows.back().insert(rows.back().begin(), what(points[i]));
  }
  if (many) rows[0].insert(rows[0].begin(), "strategy");
  fmt::print("{}", table(rows));
  if (!many) print_turning_point(predictions, baseline);
  for (const Prediction& r : predictions)
    if (r.lost_seconds > 0)
      fmt::print(
          "{}: the failure costs {} with the configured checkpoints; if one such failure is "
          "expected "
          "in that time, the best interval between checkpoints is {} ({} steps)\n",
          ranks_text(r.ranks), short_time(r.lost_seconds), short_time(r.checkpoint_interval),
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
  std::vector<CaseError> errors, undisturbed;
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows = {{"strategy", "backend", "ranks", "simulated ms",
                                                 "measured ms", "error", "undisturbed", "measured",
                                                 "error", ""}};
  const auto ms = [](double seconds) { return fmt::format("{:.4f}", seconds * 1e3); };
  const auto signed_percent = [](double share) { return fmt::format("{:+.1f}%", share * 100); };
  for (const Validated& v : all) {
    const ParallelConfig& p = v.point.config.parallel;
    const bool disturbed = !v.disturbed_by.empty();
    errors.push_back({v.error(), disturbed});
    undisturbed.push_back({v.undisturbed_error(), disturbed});
    rows.push_back({p.strategy, to_text(p.backend), std::to_string(p.ranks),
                    ms(v.predicted.step_seconds), ms(v.measured), signed_percent(v.error()),
                    ms(v.predicted.undisturbed_step_seconds), ms(v.measured_undisturbed),
                    signed_percent(v.undisturbed_error()), disturbed ? "disturbed" : ""});
    list.push_back(to_json(v));
  }
  const ErrorSummary expected = summarise_errors(errors), quiet = summarise_errors(undisturbed);
  if (json) {
    fmt::print("{}\n", Json{{"cases", list},
                            {"counted", expected.counted},
                            {"left_out_as_disturbed", expected.left_out},
                            {"median_error", expected.median},
                            {"largest_error", expected.largest},
                            {"median_undisturbed_error", quiet.median},
                            {"largest_undisturbed_error", quiet.largest}}
                           .dump(2));
    return;
  }
  fmt::print(
      "steps of {} on this machine, simulated and measured: medians, and undisturbed steps\n"
      "\n{}",
      all.front().point.config.name, table(rows));
  if (expected.counted > 0)
    fmt::print("median error {:.1f}%, largest {:.1f}%; undisturbed {:.1f}%, largest {:.1f}%\n",
               expected.median * 100, expected.largest * 100, quiet.median * 100,
               quiet.largest * 100);
  if (expected.left_out > 0) {
    fmt::print("{} of {} cases were measured while the machine was busy and are not counted:\n",
               expected.left_out, all.size());
    for (const Validated& v : all)
      if (!v.disturbed_by.empty())
        fmt::print("  {}, {}, {}: {}\n", v.point.config.parallel.strategy,
                   to_text(v.point.config.parallel.backend), ranks_text(v.predicted.ranks),
                   v.disturbed_by);
  }
  fmt::print("logged in {}\n", validation_log().string());
}

void print_numerics(const std::vector<nlohmann::ordered_json>& summaries) {
  const auto ranks_of = [](const Json& s) {
    return s.value("parallel", Json::object()).value("ranks", s.value("ranks", int64_t{1}));
  };
  // Another run with one rank would take real time, so the first run is the baseline.
  const double first = summaries.front().at("total_seconds").get<double>();
  std::vector<std::vector<std::string>> rows = {
      {"ranks", "test accuracy", "test loss", "epoch", "total",
       "speed-up over " + ranks_text(ranks_of(summaries.front())), "PI %", "staleness"}};
  const bool has_target = summaries.front().contains("until");
  if (has_target)
    rows.front().push_back("until " + summaries.front().at("until").get<std::string>());
  const auto number = [](const Json& json, const char* key) {
    return json.contains(key) && json[key].is_number() ? json[key].get<double>() : std::nan("");
  };
  for (const Json& s : summaries) {
    const Json parallel = s.value("parallel", Json::object());
    const double total = s.at("total_seconds").get<double>();
    const double accuracy = number(s, "test_accuracy"), stale = number(parallel, "staleness_mean");
    rows.push_back({std::to_string(ranks_of(s)), std::isnan(accuracy) ? "" : percent(accuracy),
                    fmt::format("{:.4f}", number(s, "test_loss")),
                    s.contains("epoch_seconds") && !s["epoch_seconds"].empty()
                        ? short_time(s["epoch_seconds"].back().get<double>())
                        : "",
                    short_time(total), fmt::format("{:.2f}", first / total),
                    fmt::format("{:.1f}", (1 - total / first) * 100),
                    std::isnan(stale) ? "" : fmt::format("{:.2f}", stale)});
    if (!has_target) continue;
    const double seconds = number(s, "until_seconds");
    rows.back().push_back(
        std::isnan(seconds)
            ? "not reached"
            : fmt::format("{}, {:.4g} epochs", short_time(seconds), number(s, "until_epochs")));
  }
  fmt::print("{}", table(rows));
}

}  // namespace lockstep
