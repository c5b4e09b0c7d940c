#include "cluster/cluster.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>

#include "base/error.h"
#include "base/nearest.h"
#include "base/toml.h"

namespace lockstep {
namespace {

constexpr size_t most_dimensions = 8, most_kinds = 1000;

double number(const std::string& key, const TomlValue& value, double least, double most) {
  double found = 0;
  if (const auto* whole = std::get_if<int64_t>(&value.data))
    found = static_cast<double>(*whole);
  else if (const auto* real = std::get_if<double>(&value.data))
    found = *real;
  else
    throw UserError("{}: {} is {}, a number is expected", value.where, key, value.type());
  if (!(found >= least && found <= most))
    throw UserError("{}: {} = {} is not possible; expected {} to {}", value.where, key, found,
                    least, most);
  return found;
}

int whole(const std::string& key, const TomlValue& value, int least, int most) {
  if (!std::holds_alternative<int64_t>(value.data))
    throw UserError("{}: {} must be a whole number", value.where, key);
  return static_cast<int>(number(key, value, least, most));
}

std::string word(const std::string& key, const TomlValue& value) {
  if (const auto* found = std::get_if<std::string>(&value.data)) return *found;
  throw UserError("{}: {} is {}, a text is expected", value.where, key, value.type());
}

template <typename Enum>
Enum choice(const std::string& key, const TomlValue& value) {
  const std::string name = word(key, value);
  if (const auto found = from_text<Enum>(name)) return *found;
  throw UserError("{}: {} = \"{}\" is not known; {}", value.where, key, name,
                  suggestion(name, all_texts<Enum>()));
}

// Sizes of the dimensions of a network.
std::vector<int> extents(const std::string& key, const TomlValue& value) {
  const auto wrong = [&] {
    return UserError("{}: {} must be a list of 1 to {} whole numbers from 1 to {}, such as [4, 4]",
                     value.where, key, most_dimensions, most_nodes);
  };
  const auto* list = std::get_if<std::vector<std::string>>(&value.data);
  if (!list || list->empty() || list->size() > most_dimensions) throw wrong();
  std::vector<int> all;
  for (const std::string& item : *list) {
    int extent = 0;
    const char* const end = item.data() + item.size();
    const auto [stop, error] = std::from_chars(item.data(), end, extent);
    if (error != std::errc() || stop != end || extent < 1 || extent > most_nodes) throw wrong();
    all.push_back(extent);
  }
  return all;
}

constexpr double gbit = 1e9 / 8, microsecond = 1e-6, most_gbit = 100000, most_us = 10'000'000;

// Keys of [node] or of one [[node]].
struct NodeKey {
  const char* name;
  void (*set)(NodeKind& kind, const std::string& key, const TomlValue& value);
};
constexpr NodeKey node_keys[] = {
    {"node.count", [](NodeKind& k, auto& key, auto& v) { k.count = whole(key, v, 1, most_nodes); }},
    {"node.cores", [](NodeKind& k, auto& key, auto& v) { k.cores = whole(key, v, 1, 4096); }},
    {"node.speed", [](NodeKind& k, auto& key, auto& v) { k.speed = number(key, v, 1e-4, 1e4); }},
    {"node.sockets", [](NodeKind& k, auto& key, auto& v) { k.sockets = whole(key, v, 1, 64); }},
    {"node.bandwidth_gbit",
     [](NodeKind& k, auto& key, auto& v) { k.download = number(key, v, 1e-5, most_gbit) * gbit; }},
    {"node.upload_gbit",
     [](NodeKind& k, auto& key, auto& v) { k.upload = number(key, v, 1e-5, most_gbit) * gbit; }},
    {"node.memory_gb",
     [](NodeKind& k, auto& key, auto& v) { k.memory = number(key, v, 1e-3, 1e6) * (1 << 30); }}};

bool set_node(NodeKind& kind, const std::string& key, const TomlValue& value) {
  for (const NodeKey& one : node_keys)
    if (key == one.name) {
      one.set(kind, key, value);
      return true;
    }
  return false;
}

using Setters = std::map<std::string, std::function<void(const std::string&, const TomlValue&)>>;

Setters disturbance_setters(Disturbance& d) {
  return {
      {"noise", [&](auto& k, auto& v) { d.noise = number(k, v, 0, 2); }},
      {"stragglers", [&](auto& k, auto& v) { d.stragglers = whole(k, v, 0, most_nodes); }},
      {"straggler_speed", [&](auto& k, auto& v) { d.straggler_speed = number(k, v, 0.001, 1); }},
      {"fails_at", [&](auto& k, auto& v) { d.fails_at = number(k, v, 0, 1e9); }},
      {"restart", [&](auto& k, auto& v) { d.restart = number(k, v, 0, 1e7); }}};
}

std::vector<std::string> names_of(const Setters& setters) {
  std::vector<std::string> names;
  for (const auto& [name, ignored] : setters) names.push_back(name);
  return names;
}

void check_size(const Cluster& c, const std::string& source) {
  if (c.kinds.size() > most_kinds)
    throw UserError("{}: {} different [[node]] are too many; at most {} are possible", source,
                    c.kinds.size(), most_kinds);
  int64_t nodes = 0, cores = 0;
  for (const NodeKind& kind : c.kinds) {
    nodes += kind.count;
    cores += int64_t{kind.count} * kind.cores;
  }
  if (nodes > most_nodes || cores > most_cores)
    throw UserError(
        "{}: {} nodes with {} cores in total are too many; at most {} nodes and {} cores are "
        "possible",
        source, nodes, cores, most_nodes, most_cores);
}

void check_stragglers(const Cluster& c, const std::string& where) {
  if (c.disturbance.stragglers > c.nodes())
    throw UserError("{}stragglers={}: the cluster has {} nodes", where, c.disturbance.stragglers,
                    c.nodes());
}

// Checks that the topology has the keys it needs and that its shape matches the number of nodes.
void check_shape(const Cluster& c, const std::string& source) {
  // Each factor is at most most_nodes, so the product cannot overflow before the loop stops.
  int64_t product = 1;
  for (const int extent : c.shape)
    if (product <= most_nodes) product *= extent;
  if ((c.topology == Topology::tree || c.topology == Topology::fat_tree) && c.leaf < 1)
    throw UserError("{}: topology \"{}\" needs network.leaf: the number of nodes per leaf switch",
                    source, to_text(c.topology));
  if (c.topology == Topology::tree && c.uplink.bandwidth <= 0)
    throw UserError(
        "{}: topology \"tree\" needs network.uplink_gbit: the bandwidth of a leaf switch's uplink",
        source);
  if (c.topology == Topology::torus || c.topology == Topology::dragonfly) {
    if (c.shape.empty())
      throw UserError(
          "{}: topology \"{}\" needs network.shape, such as {}", source, to_text(c.topology),
          c.topology == Topology::torus ? "[4, 4, 4]"
                                        : "[3, 4, 3, 2]: groups, chassis, routers, nodes");
    if (c.topology == Topology::dragonfly && c.shape.size() != 4)
      throw UserError("{}: network.shape of a dragonfly is [groups, chassis, routers, nodes]",
                      source);
    if (product != c.nodes())
      throw UserError("{}: network.shape has {} places, but there are {} nodes", source, product,
                      c.nodes());
  }
}

// Nodes with links of their own need a topology in which each node has one.
void check_own_links(const Cluster& c, const std::string& source) {
  const bool has_own = std::ranges::any_of(
      c.kinds, [](const NodeKind& kind) { return kind.download > 0 || kind.upload > 0; });
  if (has_own && c.topology != Topology::star && c.topology != Topology::tree)
    throw UserError(
        "{}: node.bandwidth_gbit and node.upload_gbit are possible with topology \"star\" and "
        "\"tree\", not with \"{}\"",
        source, to_text(c.topology));
  if (c.duplex == Duplex::half && c.topology != Topology::star)
    throw UserError("{}: network.duplex = \"half\" is possible with topology \"star\" only",
                    source);
}

}  // namespace

int Cluster::nodes() const {
  int sum = 0;
  for (const NodeKind& kind : kinds) sum += kind.count;
  return sum;
}

int Cluster::slots() const {
  int sum = 0;
  for (const NodeKind& kind : kinds) sum += kind.count * kind.cores;
  return sum;
}

const NodeKind& Cluster::node(int index) const {
  for (const NodeKind& kind : kinds) {
    if (index < kind.count) return kind;
    index -= kind.count;
  }
  throw Failure("node {} of a cluster of {}", index, nodes());
}

double Cluster::speed_of(int index) const {
  const double speed = node(index).speed;
  return index >= nodes() - disturbance.stragglers ? speed * disturbance.straggler_speed : speed;
}

double Cluster::download_of(int index) const {
  const NodeKind& kind = node(index);
  return kind.download > 0 ? kind.download : link.bandwidth;
}

double Cluster::upload_of(int index) const {
  const NodeKind& kind = node(index);
  return kind.upload > 0 ? kind.upload : download_of(index);
}

void Cluster::scale_links(double factor) {
  link.bandwidth *= factor;
  link.latency /= factor;
  for (NodeKind& kind : kinds) {
    kind.download *= factor;
    kind.upload *= factor;
  }
}

std::vector<int> Cluster::place(int ranks, int per_node) const {
  std::vector<int> nodes_of_ranks;
  const int last = nodes() - 1;
  for (int r = 0; r < ranks; ++r) nodes_of_ranks.push_back(std::min(r / per_node, last));
  return nodes_of_ranks;
}

Cluster parse_cluster(const std::string& text, const std::string& source) {
  Cluster c;
  double efficiency = 0.94, gbits = 0, uplink_gbits = 0;
  Setters setters = {
      {"name", [&](auto& k, auto& v) { c.name = word(k, v); }},
      {"about", [&](auto& k, auto& v) { c.about = word(k, v); }},
      {"source", [&](auto& k, auto& v) { c.source = word(k, v); }},
      {"network.topology", [&](auto& k, auto& v) { c.topology = choice<Topology>(k, v); }},
      {"network.duplex", [&](auto& k, auto& v) { c.duplex = choice<Duplex>(k, v); }},
      {"network.bandwidth_gbit", [&](auto& k, auto& v) { gbits = number(k, v, 1e-5, most_gbit); }},
      {"network.latency_us",
       [&](auto& k, auto& v) { c.link.latency = number(k, v, 0, most_us) * microsecond; }},
      {"network.efficiency", [&](auto& k, auto& v) { efficiency = number(k, v, 0.01, 1); }},
      {"network.cpu_us_per_mb",
       [&](auto& k, auto& v) { c.message_cpu = number(k, v, 0, 1e6) * microsecond / 1e6; }},
      {"network.uplink_gbit",
       [&](auto& k, auto& v) { uplink_gbits = number(k, v, 1e-5, most_gbit); }},
      {"network.uplink_latency_us",
       [&](auto& k, auto& v) { c.uplink.latency = number(k, v, 0, most_us) * microsecond; }},
      {"network.leaf", [&](auto& k, auto& v) { c.leaf = whole(k, v, 1, 100'000); }},
      {"network.spines", [&](auto& k, auto& v) { c.spines = whole(k, v, 1, 10'000); }},
      {"network.shape", [&](auto& k, auto& v) { c.shape = extents(k, v); }}};
  for (const auto& [name, set] : disturbance_setters(c.disturbance))
    setters["disturbance." + name] = set;

  std::map<std::string, NodeKind> kinds;  // by the part of the key before the last dot
  for (const auto& [key, value] : parse_toml_lists(text, source)) {
    const size_t dot = key.rfind('.');
    // "node.cores", or "node.2.cores" of the third [[node]].
    if (key.starts_with("node.") &&
        set_node(kinds[key.substr(0, dot)], "node" + key.substr(dot), value))
      continue;
    const auto found = setters.find(key);
    if (found == setters.end()) {
      std::vector<std::string> names = names_of(setters);
      for (const NodeKey& one : node_keys) names.emplace_back(one.name);
      throw UserError("{}: unknown key '{}'; {}", value.where, key, suggestion(key, names));
    }
    found->second(key, value);
  }
  for (auto& [ignored, kind] : kinds) {
    kind.download *= efficiency;
    kind.upload *= efficiency;
    if (kind.memory <= 0) throw UserError("{}: node.memory_gb is missing", source);
    if (kind.cores % kind.sockets != 0)
      throw UserError("{}: node.sockets = {} does not divide node.cores = {}", source, kind.sockets,
                      kind.cores);
    c.kinds.push_back(kind);
  }
  if (c.kinds.empty())
    throw UserError("{}: there is no [node] with count, cores, speed and memory_gb", source);
  check_size(c, source);
  check_stragglers(c, source + ": disturbance.");
  if (gbits <= 0 && c.nodes() > 1) throw UserError("{}: network.bandwidth_gbit is missing", source);
  c.link.bandwidth = gbits * gbit * efficiency;
  c.uplink.bandwidth = uplink_gbits * gbit * efficiency;
  check_shape(c, source);
  check_own_links(c, source);
  return c;
}

void disturb(Cluster& cluster, const std::string& assignments) {
  if (const size_t comma = assignments.find(','); comma != std::string::npos) {
    disturb(cluster, assignments.substr(0, comma));
    disturb(cluster, assignments.substr(comma + 1));
    return;
  }
  const std::string& assignment = assignments;
  const auto [key, value] = parse_assignment(assignment);
  const Setters setters = disturbance_setters(cluster.disturbance);
  const auto found = setters.find(key);
  if (found == setters.end())
    throw UserError("--disturb {}: unknown '{}'; {}", assignment, key,
                    suggestion(key, names_of(setters)));
  found->second(key, value);
  check_stragglers(cluster, "--disturb ");
}

std::string identity(const Cluster& c) {
  std::string text = fmt::format(
      "{} {} {} link {} {} uplink {} {} leaf {} spines {} shape {} cpu {}", c.name,
      to_text(c.topology), to_text(c.duplex), c.link.bandwidth, c.link.latency, c.uplink.bandwidth,
      c.uplink.latency, c.leaf, c.spines, fmt::join(c.shape, "x"), c.message_cpu);
  for (const NodeKind& k : c.kinds)
    text += fmt::format(" node {} {} {} {} {} link {} {}", k.count, k.cores, k.speed, k.memory,
                        k.sockets, k.download, k.upload);
  const Disturbance& d = c.disturbance;
  return text + fmt::format(" disturbance {} {} {} {} {}", d.noise, d.stragglers, d.straggler_speed,
                            d.fails_at, d.restart);
}

Cluster machine_cluster(const std::string& machine, int cores, double memory, int sockets) {
  Cluster c;
  c.name = this_machine_cluster;
  c.is_this_machine = true;
  c.about = machine;
  c.source = "measured by 'lockstep calibrate'";
  c.kinds = {{.count = 1, .cores = cores, .speed = 1, .memory = memory, .sockets = sockets}};
  return c;
}

}  // namespace lockstep
