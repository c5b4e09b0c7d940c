#include "sim/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/statistics.h"
#include "data/fetch/folders.h"
#include "os/program.h"
#include "os/run_command.h"
#include "parallel/strategy.h"
#include "sim/measure/disturbance_watch.h"
#include "sim/predictor.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

// Short, because many short rounds meet more quiet moments of a shared machine than a few long
// ones.
constexpr double seconds_a_round = 1, seconds_for_costs = 0.4;
constexpr double patience = 12;  // seconds per point and round
constexpr int most_attempts = 5;

// Step times of a real run, in seconds.
struct RealRun {
  double median = 0, undisturbed = 0;
  Quietness quietness;
};

// Runs steps of the point with 'lockstep bench'.
RealRun real_run(const SimulatedPoint& point, const fs::path& scratch, DisturbanceWatch& watch) {
  const fs::path config = scratch / "config.toml", log = scratch / "bench.json";
  write_file(config, to_toml(point.config));
  watch.begin();
  run_command({lockstep_program().string(), "bench", config.string(), "--ranks",
               std::to_string(point.config.parallel.ranks), "--backend",
               to_text(point.config.parallel.backend), "--seconds", std::to_string(seconds_a_round),
               "--json"},
              scratch, std::chrono::minutes(5), log);
  const std::string text = read_text(log);
  const size_t begin = text.find("{\n");
  const Json json =
      begin == std::string::npos ? Json() : Json::parse(text.substr(begin), nullptr, false);
  if (!json.is_object()) throw Failure("the benchmark printed no JSON: {}", text);
  RealRun run{.median = json.at("step_ms").get<double>() / 1e3,
              .undisturbed = json.at("undisturbed_step_ms").get<double>() / 1e3};
  run.quietness = watch.end(telling_spread(run.undisturbed, run.median));
  return run;
}

// The undisturbed runs, or all runs if there are none.
std::vector<RealRun> best_of(const std::vector<RealRun>& runs) {
  std::vector<RealRun> quiet;
  for (const RealRun& run : runs)
    if (run.quietness.quiet()) quiet.push_back(run);
  return quiet.empty() ? runs : quiet;
}

std::vector<double> each(const std::vector<RealRun>& runs, double RealRun::*seconds) {
  std::vector<double> all;
  for (const RealRun& run : runs) all.push_back(run.*seconds);
  return all;
}

// Whether the two fastest undisturbed runs agree within 2%.
bool are_confirmed(const std::vector<RealRun>& runs) {
  std::vector<double> seconds = each(best_of(runs), &RealRun::undisturbed);
  std::ranges::sort(seconds);
  return best_of(runs)[0].quietness.quiet() && seconds.size() > 1 && seconds[1] < 1.02 * seconds[0];
}

Validated compared(const SimulatedPoint& point, const Prediction& predicted,
                   const std::vector<RealRun>& runs, bool step_was_calibrated) {
  const std::vector<RealRun> best = best_of(runs);
  const std::vector<double> undisturbed = each(best, &RealRun::undisturbed);
  Validated v{.point = point,
              .predicted = predicted,
              .measured = median(each(best, &RealRun::median)),
              .measured_undisturbed = *std::ranges::min_element(undisturbed),
              .step_was_calibrated = step_was_calibrated};
  if (!best[0].quietness.quiet())
    v.disturbed_by = "real runs: " + best[0].quietness.why;
  else if (predicted.disturbed)
    v.disturbed_by = predicted.cautions.front();
  return v;
}

}  // namespace

Json to_json(const Validated& v) {
  const ParallelConfig& p = v.point.config.parallel;
  return {{"name", v.point.config.name},
          {"strategy", p.strategy},
          {"backend", to_text(p.backend)},
          {"ranks", p.ranks},
          {"batch", v.point.config.train.batch},
          {"predicted_step_seconds", v.predicted.step_seconds},
          {"step_seconds_low", v.predicted.low},
          {"step_seconds_high", v.predicted.high},
          {"measured_step_seconds", v.measured},
          {"error", v.error()},
          {"in_band", v.in_band()},
          {"predicted_undisturbed_step_seconds", v.predicted.undisturbed_step_seconds},
          {"measured_undisturbed_step_seconds", v.measured_undisturbed},
          {"undisturbed_error", v.undisturbed_error()},
          {"out_of_sample", !v.step_was_calibrated},
          {"disturbed", !v.disturbed_by.empty()},
          {"disturbed_by", v.disturbed_by}};
}

fs::path validation_log() { return cache_folder() / "validations.jsonl"; }

std::vector<Validated> validate(const std::vector<SimulatedPoint>& points, const DataSplits& data,
                                Profile& profile, const Cluster& cluster, SimulateOptions how,
                                int rounds, const Say& say) {
  if (!cluster.is_this_machine)
    throw UserError("--validate makes real runs on this machine; use --cluster this");
  how.loading = false;
  // Use only measurements of these rounds: those of a quieter hour would be too fast. Costs of a
  // network are kept per point and measured in turn with its runs, because the minimum of many
  // measurements would be too fast for a few runs. Short steps use the costs of all points: even a
  // few runs contain many of them.
  Profile nothing = profile;
  nothing.threads.clear();
  nothing.mpi.clear();
  nothing.networks.clear();
  Profile together = nothing;
  std::vector<Profile> costs(points.size(), nothing);
  std::vector<std::vector<RealRun>> runs(points.size());
  const WallClock clock;
  const ThisMachine machine;
  DisturbanceWatch watch(machine, profile.arithmetic);
  const ScratchFolder scratch(profile_path().parent_path());
  for (int round = 1; round <= rounds; ++round) {
    say(fmt::format("validating: round {} of {}", round, rounds));
    for (size_t i = 0; i < points.size(); ++i) {
      if (i % 3 == 0) {  // repeated, so that a short disturbance does not meet all samples
        refine_tables(together, say);
        keep_better_tables(profile.threads, profile.threads_quietness, together.threads,
                           together.threads_quietness);
        keep_better_tables(profile.mpi, profile.mpi_quietness, together.mpi,
                           together.mpi_quietness);
      }
      const double start = clock.seconds();
      for (int attempt = 0; attempt < most_attempts; ++attempt) {
        refine_costs(points[i], data, costs[i], seconds_for_costs);
        runs[i].push_back(real_run(points[i], scratch.path(), watch));
        if (are_confirmed(runs[i]) || clock.seconds() - start > patience) break;
      }
    }
  }
  for (const Profile& one : costs)
    for (const auto& [key, measured] : one.networks) {
      keep_better(together.networks, key, measured);
      keep_better(profile.networks, key, measured);
    }
  profile.arithmetic = watch.fastest();
  write_profile(profile_path(), profile);
  LineFile log(validation_log(), true);
  std::vector<Validated> all;
  for (size_t i = 0; i < points.size(); ++i) {
    Profile& own = costs[i];
    own.threads = together.threads;
    own.threads_quietness = together.threads_quietness;
    own.mpi = together.mpi;
    own.mpi_quietness = together.mpi_quietness;
    const NetworkCosts measured = known_costs(points[i], data, own);
    const bool is_short = measured.by_ranks.begin()->second.step() < short_step;
    const ParallelConfig& p = points[i].config.parallel;
    all.push_back(compared(points[i],
                           simulate_point(points[i], data, is_short ? together : own, cluster, how),
                           runs[i], p.ranks == 1));
    Json line{{"when", time_text()}, {"machine", profile.machine}};
    line.update(to_json(all.back()));
    log.append(line.dump());
  }
  return all;
}

}  // namespace lockstep
