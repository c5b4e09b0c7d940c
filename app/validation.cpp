#include "validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/run_command.h"
#include "data/folders.h"
#include "sim/measure.h"
#include "sim/near_cores.h"
#include "simulating.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

// Short: many rounds meet more of the quiet moments of a shared machine than a few long ones.
constexpr double seconds_a_round = 1, seconds_for_costs = 0.4;

// Steps of the point as 'lockstep bench' makes them.
double measured_step(const SimulatedPoint& point, const fs::path& scratch) {
  const fs::path config = scratch / "config.toml", log = scratch / "bench.json";
  write_file(config, to_toml(point.config));
  run_command(
      {fs::read_symlink("/proc/self/exe").string(), "bench", config.string(), "--ranks",
       std::to_string(point.config.parallel.ranks), "--backend", point.config.parallel.backend,
       "--seconds", std::to_string(seconds_a_round), "--json"},
      scratch, std::chrono::minutes(5), log);
  const std::string text = read_text(log);
  const size_t begin = text.find("{\n");
  const Json json =
      begin == std::string::npos ? Json() : Json::parse(text.substr(begin), nullptr, false);
  if (!json.is_object()) throw Failure("the real run said no figures: {}", text);
  return json.at("undisturbed_step_ms").get<double>() / 1e3;
}

// A second run was as quick as the quickest: neither was disturbed.
bool are_confirmed(std::vector<double>& runs) {
  std::ranges::sort(runs);
  return runs.size() > 1 && runs[1] < 1.02 * runs[0];
}

}  // namespace

fs::path validation_log() { return cache_folder() / "validations.jsonl"; }

std::vector<Validated> validate(const std::vector<SimulatedPoint>& points, const DataSplits& data,
                                Profile& profile, const Cluster& cluster, SimulateOptions how,
                                int rounds, const Say& say) {
  if (cluster.name != "this")
    throw UserError("--validate runs for real, on this machine; use --cluster this");
  how.loading = false;
  // Of these rounds alone: what was measured in a quieter hour would be too quick for them. Costs
  // of a network even for each point alone, in turns with its runs: the quickest of many
  // measurements would be too quick for a few runs. Of short steps even a few runs are many.
  Profile nothing = profile;
  nothing.threads.clear();
  nothing.mpi.clear();
  nothing.networks.clear();
  Profile together = nothing;
  std::vector<Profile> costs(points.size(), nothing);
  std::vector<std::vector<double>> runs(points.size());  // seconds a step
  const ScratchFolder scratch(profile_path().parent_path());
  for (int round = 1; round <= rounds; ++round) {
    say(fmt::format("validating: round {} of {}", round, rounds));
    for (size_t i = 0; i < points.size(); ++i) {
      if (i % 3 == 0)  // now and then, as all else: a disturbed moment must not meet all of it
        NearCores(profile.threads).run([&] {
          refine_tables(together, say);
          keep_quicker_tables(profile.threads, together.threads);
          keep_quicker_tables(profile.mpi, together.mpi);
          return true;
        });
      costs[i].threads = together.threads;
      NearCores(profile.threads).run([&] {
        refine_costs(points[i], data, costs[i], seconds_for_costs);
        runs[i].push_back(measured_step(points[i], scratch.path()));
        return are_confirmed(runs[i]);
      });
    }
  }
  for (const Profile& one : costs) keep_quicker(together.networks, one.networks);
  keep_quicker(profile.networks, together.networks);
  write_profile(profile_path(), profile);
  LineFile log(validation_log(), true);
  std::vector<Validated> all;
  for (size_t i = 0; i < points.size(); ++i) {
    Profile& own = costs[i];
    own.threads = together.threads;
    own.mpi = together.mpi;
    const bool is_short =
        known_costs(points[i], data, own).by_ranks.begin()->second.step() < short_step;
    const Profile& known = is_short ? together : own;
    const Validated& v = all.emplace_back(
        Validated{.point = points[i],
                  .predicted = simulate_point(points[i], data, known, cluster, how),
                  .measured = runs[i][0]});
    log.append(Json{{"when", time_text()},
                    {"machine", profile.machine},
                    {"name", v.point.config.name},
                    {"strategy", v.point.config.parallel.strategy},
                    {"backend", v.point.config.parallel.backend},
                    {"ranks", v.point.config.parallel.ranks},
                    {"predicted_step_seconds", v.predicted.step_seconds},
                    {"measured_step_seconds", v.measured},
                    {"error", v.error()}}
                   .dump());
  }
  return all;
}

}  // namespace lockstep
