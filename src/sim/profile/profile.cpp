#include "sim/profile/profile.h"

#include <xxhash.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "data/fetch/folders.h"
#include "os/affinity.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr int format = 10;  // raised when the file or what is measured changes
constexpr int64_t days_to_trust = 30;

Json to_json(const SizeTable& table) {
  Json json = Json::array();
  for (const auto& [bytes, seconds] : table.points()) json.push_back({bytes, seconds});
  return json;
}

SizeTable table_from(const Json& json) {
  SizeTable table;
  double last = -1;
  for (const Json& point : json) {
    const double bytes = point.at(0).get<double>(), seconds = point.at(1).get<double>();
    if (!(bytes > last) || !(seconds >= 0))
      throw Json::other_error::create(501, "a table of times is not ascending", nullptr);
    table.add(bytes, seconds);
    last = bytes;
  }
  return table;
}

Json to_json(const StepCost& c) {
  Json kernels = Json::array();
  for (const KernelCost& k : c.kernels)
    kernels.push_back({{"kernel", k.kernel}, {"forward", k.forward}, {"backward", k.backward}});
  return {{"kernels", kernels},
          {"micro_batch", c.micro_batch},
          {"inference", c.inference},
          {"norm", c.norm},
          {"update", c.update},
          {"add", c.add},
          {"copy", c.copy},
          {"whole_update", c.whole_update},
          {"after_whole_arrays", c.after_whole_arrays},
          {"load_per_row", c.load},
          {"typical", c.typical},
          {"low", c.low},
          {"high", c.high}};
}

Json to_json(const Quietness& q) { return {{"disturbed_by", q.why}, {"slowdown", q.slowdown}}; }

Quietness quietness_from(const Json& json) {
  return {json.at("disturbed_by").get<std::string>(), json.at("slowdown").get<double>()};
}

StepCost step_from(const Json& json) {
  StepCost c;
  for (const Json& k : json.at("kernels"))
    c.kernels.push_back({k.at("kernel").get<std::string>(), k.at("forward").get<double>(),
                         k.at("backward").get<double>()});
  c.micro_batch = json.at("micro_batch").get<double>();
  c.inference = json.at("inference").get<double>();
  c.norm = json.at("norm").get<double>();
  c.update = json.at("update").get<double>();
  c.add = json.at("add").get<double>();
  c.copy = json.at("copy").get<double>();
  c.whole_update = json.at("whole_update").get<double>();
  c.after_whole_arrays = json.at("after_whole_arrays").get<double>();
  c.load = json.at("load_per_row").get<double>();
  c.typical = json.at("typical").get<double>();
  c.low = json.at("low").get<double>();
  c.high = json.at("high").get<double>();
  return c;
}

std::map<std::string, SizeTable> tables_from(const Json& json) {
  std::map<std::string, SizeTable> tables;
  for (const auto& [name, table] : json.items()) tables[name] = table_from(table);
  return tables;
}

Json to_json(const std::map<std::string, SizeTable>& tables) {
  Json json = Json::object();
  for (const auto& [name, table] : tables) json[name] = to_json(table);
  return json;
}

}  // namespace

void keep_quicker_tables(std::map<std::string, SizeTable>& known,
                         const std::map<std::string, SizeTable>& other) {
  for (const auto& [operation, table] : other) {
    const auto [mine, added] = known.try_emplace(operation, table);
    if (!added) mine->second.keep_faster(table);
  }
}

void keep_better_tables(std::map<std::string, SizeTable>& known, Quietness& known_quietness,
                        const std::map<std::string, SizeTable>& other, const Quietness& quietness) {
  if (known.empty() || (quietness.quiet() && !known_quietness.quiet())) {
    known = other;
    known_quietness = quietness;
  } else if (quietness.quiet() == known_quietness.quiet()) {
    keep_quicker_tables(known, other);
    if (quietness.slowdown < known_quietness.slowdown) known_quietness = quietness;
  }
}

void keep_better(std::map<std::string, NetworkCosts>& known, const std::string& key,
                 const NetworkCosts& costs) {
  const auto [mine, added] = known.try_emplace(key, costs);
  if (!added) mine->second.keep_better(costs);
}

std::string network_key(const RunConfig& config, const Shape& input, int64_t rows) {
  return fmt::format("{} <- {} of {}; {}; {}; {} rows, {} thread{}",
                     fmt::join(config.model.layers, ", "), input.text(), config.data.name,
                     to_text(config.train.loss), config.optimizer.name, rows, config.device.threads,
                     config.device.threads == 1 ? "" : "s");
}

std::string this_machine() {
  std::ifstream info("/proc/cpuinfo");
  std::string name = "processor";
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name") || line.starts_with("Model")) {
      name = line.substr(line.find(':') + 2);
      break;
    }
  const size_t cores = allowed_cores().size();
  return fmt::format("{}, {} core{}", name, cores, cores == 1 ? "" : "s");
}

fs::path profile_path() {
  const std::string machine = this_machine();
  return cache_folder() / "profiles" /
         fmt::format("{:016x}.json", XXH3_64bits(machine.data(), machine.size()));
}

std::string time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::ostringstream text;
  text << std::put_time(&parts, "%Y-%m-%d %H:%M:%S UTC");
  return text.str();
}

bool is_stale(const std::string& measured, const std::string& version) {
  std::tm parts{};
  std::istringstream text(measured);
  text >> std::get_time(&parts, "%Y-%m-%d %H:%M:%S");
  if (text.fail() || version != LOCKSTEP_VERSION) return true;
  const double age = std::difftime(std::time(nullptr), ::timegm(&parts));
  return age > static_cast<double>(days_to_trust * 24 * 3600);
}

Profile read_profile(const fs::path& path) {
  const std::string text = read_text(path);
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("lockstep_profile"))
    throw UserError("{} is not a profile; 'lockstep calibrate --out {}' makes one", path.string(),
                    path.string());
  try {
    if (const int found = json.at("lockstep_profile").get<int>(); found != format)
      throw UserError(
          "{} is a profile of version {}, this program reads version {}; make it again with "
          "'lockstep calibrate --out {}' on its machine",
          path.string(), found, format, path.string());
    Profile p;
    p.machine = json.at("machine").get<std::string>();
    p.cores = json.at("cores").get<int>();
    p.version = json.at("version").get<std::string>();
    p.measured = json.at("measured").get<std::string>();
    p.threads = tables_from(json.at("threads"));
    p.mpi = tables_from(json.at("mpi"));
    p.threads_quietness = quietness_from(json.at("threads_quietness"));
    p.mpi_quietness = quietness_from(json.at("mpi_quietness"));
    p.arithmetic = json.at("arithmetic").get<double>();
    for (const auto& [key, n] : json.at("networks").items()) {
      NetworkCosts costs;
      costs.rows = n.at("rows").get<int64_t>();
      costs.parameters = n.at("parameters").get<int64_t>();
      costs.measured = n.at("measured").get<std::string>();
      costs.quietness = quietness_from(n.at("quietness"));
      for (const auto& [ranks, cost] : n.at("by_ranks").items())
        costs.by_ranks[std::stoi(ranks)] = step_from(cost);
      if (costs.rows < 1 || costs.parameters < 1 || costs.by_ranks.empty())
        throw UserError("{}: the costs of '{}' are invalid", path.string(), key);
      p.networks[key] = costs;
    }
    if (p.cores < 1) throw UserError("{}: cores = {} is invalid", path.string(), p.cores);
    return p;
  } catch (const Json::exception& error) {
    throw UserError("{} is a damaged profile: {}; make it again with 'lockstep calibrate'",
                    path.string(), error.what());
  } catch (const std::logic_error& error) {  // thrown by std::stoi
    throw UserError("{} is a damaged profile: {}", path.string(), error.what());
  }
}

void write_profile(const fs::path& path, const Profile& p) {
  Json networks = Json::object();
  for (const auto& [key, costs] : p.networks) {
    Json by_ranks = Json::object();
    for (const auto& [ranks, cost] : costs.by_ranks)
      by_ranks[std::to_string(ranks)] = to_json(cost);
    networks[key] = {{"rows", costs.rows},
                     {"parameters", costs.parameters},
                     {"measured", costs.measured},
                     {"quietness", to_json(costs.quietness)},
                     {"by_ranks", by_ranks}};
  }
  const Json json{{"lockstep_profile", format},
                  {"machine", p.machine},
                  {"cores", p.cores},
                  {"version", p.version},
                  {"measured", p.measured},
                  {"arithmetic", p.arithmetic},
                  {"threads_quietness", to_json(p.threads_quietness)},
                  {"threads", to_json(p.threads)},
                  {"mpi_quietness", to_json(p.mpi_quietness)},
                  {"mpi", to_json(p.mpi)},
                  {"networks", networks}};
  if (path.has_parent_path()) make_folder(path.parent_path());
  write_file(path, json.dump(1) + "\n");
}

}  // namespace lockstep
