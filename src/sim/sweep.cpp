#include "sim/sweep.h"

#include <xxhash.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/nearest.h"
#include "base/toml.h"
#include "parallel/strategy.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

std::string key_of(const RunConfig& c, int64_t ranks) {
  return fmt::format("{} ranks {} threads {} batch {} compress {}", c.parallel.strategy, ranks,
                     c.device.threads, c.train.batch, to_text(c.parallel.compress));
}

// Digest of everything that predictions rest on: configuration, profile, cluster and options. Kept
// predictions with another digest are ignored.
std::string origin(const RunConfig& config, const Predictor& predictor) {
  const SimulateOptions& how = predictor.how;
  const std::string text = fmt::format(
      "{}\n{}\n{}\n{}\n{} {} {}", to_toml(config), predictor.profile.machine,
      predictor.profile.measured, identity(predictor.cluster),
      how.engine == Engine::simgrid ? "simgrid" : "analytic", how.collectives, how.loading);
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

std::map<std::string, Json> kept_lines(const fs::path& file, const std::string& of) {
  std::map<std::string, Json> kept;
  if (!fs::exists(file)) return kept;
  std::istringstream lines(read_text(file));
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_object() && json.value("of", "") == of) kept[json.value("point", "")] = json;
  }
  return kept;
}

SweepEntry entry_from(const Json& json, const RunConfig& c) {
  return {.strategy = c.parallel.strategy,
          .compress = c.parallel.compress,
          .ranks = json.at("ranks").get<int64_t>(),
          .nodes = json.at("nodes").get<int64_t>(),
          .batch = c.train.batch,
          .global_batch = json.at("global_batch").get<int64_t>(),
          .threads = c.device.threads,
          .step_seconds = json.at("step_seconds").get<double>(),
          .total_seconds = json.at("total_seconds").get<double>(),
          .memory_bytes = json.at("memory_bytes").get<double>()};
}

struct Choice {
  std::string strategy;
  Compression compress;
  int threads;
  int64_t batch, ranks;
};

// All combinations. One rank is the same for every strategy and compression.
std::vector<Choice> choices_of(const SweepSpace& space) {
  std::vector<Choice> all;
  for (const std::string& strategy : space.strategies)
    for (const Compression compress : space.compressions)
      for (const int threads : space.threads)
        for (const int64_t batch : space.batches)
          for (const int64_t ranks : space.ranks)
            if (ranks > 1 ||
                (strategy == space.strategies.front() && compress == space.compressions.front()))
              all.push_back({strategy, compress, threads, batch, ranks});
  return all;
}

}  // namespace

void set_limit(SweepLimit& limit, const std::string& assignment) {
  const auto [key, value] = parse_assignment(assignment);
  double number = 0;
  if (const auto* whole = std::get_if<int64_t>(&value.data))
    number = static_cast<double>(*whole);
  else if (const auto* real = std::get_if<double>(&value.data))
    number = *real;
  if (!(number > 0)) throw UserError("--limit {}: a number above 0 is expected", assignment);
  enum class Limited { time, nodes, memory };
  constexpr std::array names = {"time", "nodes", "memory_gb"};
  const auto name = std::ranges::find(names, std::string_view(key));
  if (name == names.end())
    throw UserError("--limit {}: unknown '{}'; {}", assignment, key,
                    suggestion(key, {names.begin(), names.end()}));
  switch (static_cast<Limited>(name - names.begin())) {
    case Limited::time:
      limit.seconds = number;
      break;
    case Limited::nodes:
      limit.nodes = static_cast<int64_t>(number);
      break;
    case Limited::memory:
      limit.memory_gb = number;
  }
}

std::vector<SweepEntry> sweep(const RunConfig& config, Predictor& predictor,
                              const SweepSpace& space, const SweepLimit& limit,
                              const fs::path& file, const Say& say) {
  const std::string of = origin(config, predictor);
  const std::map<std::string, Json> kept =
      predictor.recalibrate ? std::map<std::string, Json>() : kept_lines(file, of);
  if (!kept.empty()) say(fmt::format("{} points are known from an earlier sweep", kept.size()));
  if (file.has_parent_path()) make_folder(file.parent_path());
  LineFile lines(file, true);
  std::vector<SweepEntry> all;
  for (const Choice& choice : choices_of(space)) {
    RunConfig c = config;
    choose_strategy(c.parallel, choice.strategy);
    c.parallel.compress = choice.compress;
    c.device.threads = choice.threads;
    c.train.batch = choice.batch;
    const std::string key = key_of(c, choice.ranks);
    if (const auto found = kept.find(key); found != kept.end()) {
      if (!found->second.contains("impossible")) all.push_back(entry_from(found->second, c));
      continue;
    }
    Json json{{"of", of}, {"point", key}};
    try {
      const Prediction p =
          predictor.predict(place_point(c, predictor.cluster, choice.ranks, 0, false));
      json.update({{"ranks", p.ranks},
                   {"nodes", p.nodes},
                   {"global_batch", p.global_batch},
                   {"step_seconds", p.step_seconds},
                   {"total_seconds", p.total_seconds},
                   {"memory_bytes", p.memory.sum()}});
      all.push_back(entry_from(json, c));
    } catch (const UserError& error) {  // does not fit
      json["impossible"] = error.what();
    }
    lines.append(json.dump());
    lines.flush();
  }
  std::erase_if(all, [&](const SweepEntry& e) {
    return (limit.nodes > 0 && e.nodes > limit.nodes) ||
           (limit.memory_gb > 0 && e.memory_bytes > limit.memory_gb * (1 << 30)) ||
           (limit.seconds > 0 && e.total_seconds > limit.seconds);
  });
  std::sort(all.begin(), all.end(), [&](const SweepEntry& a, const SweepEntry& b) {
    if (limit.seconds > 0 && a.nodes != b.nodes) return a.nodes < b.nodes;
    return a.total_seconds < b.total_seconds;
  });
  return all;
}

}  // namespace lockstep
