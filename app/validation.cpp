#include "validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/run_command.h"
#include "data/folders.h"
#include "simulating.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

// Short: many rounds meet more of the quiet moments of a shared machine than a few long ones.
constexpr double seconds_a_round = 1, seconds_for_costs = 0.7;

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

}  // namespace

fs::path validation_log() { return cache_folder() / "validations.jsonl"; }

std::vector<Validated> validate(const std::vector<SimulatedPoint>& points, const DataSplits& data,
                                Profile& profile, const Cluster& cluster, SimulateOptions how,
                                int rounds, const Say& say) {
  if (cluster.name != "this")
    throw UserError("--validate runs for real, on this machine; use --cluster this");
  how.loading = false;
  std::vector<Validated> all;
  for (const SimulatedPoint& point : points)
    all.push_back({.point = point, .predicted = {}, .measured = 1e300});
  const ScratchFolder scratch(profile_path().parent_path());
  // Of these rounds alone: what was measured in a quieter hour would be too quick for them.
  Profile now = profile;
  now.threads.clear();
  now.mpi.clear();
  now.networks.clear();
  for (int round = 1; round <= rounds; ++round) {
    say(fmt::format("validating: round {} of {}", round, rounds));
    refine_tables(now, say);
    for (Validated& v : all) {
      refine_costs(v.point, data, now, seconds_for_costs);
      v.measured = std::min(v.measured, measured_step(v.point, scratch.path()));
    }
  }
  keep_quicker(profile.threads, now.threads);
  keep_quicker(profile.mpi, now.mpi);
  keep_quicker(profile.networks, now.networks);
  write_profile(profile_path(), profile);
  LineFile log(validation_log(), true);
  for (Validated& v : all) {
    costs_for(v.point, data, now, true);
    v.predicted = simulate_point(v.point, data, now, cluster, how);
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
