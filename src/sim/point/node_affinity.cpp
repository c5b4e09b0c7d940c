#include "sim/point/node_affinity.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "base/error.h"
#include "os/affinity.h"

namespace lockstep {
namespace {

int socket_of(const NodeKind& node, int core) {
  return static_cast<int>(int64_t{core} * node.sockets / node.cores);
}

std::vector<Core> cores_of(const NodeKind& node) {
  std::vector<Core> cores;
  for (int id = 0; id < node.cores; ++id)
    cores.push_back({.id = id, .package = socket_of(node, id), .core = id});
  return cores;
}

// Listed cores are those of the simulated node, not of this machine. Anything but a list is left to
// plan_affinity().
void expect_on_node(const std::string& affinity, const NodeKind& node) {
  std::istringstream words(affinity);
  for (std::string word; std::getline(words, word, ',');) {
    const bool is_number = !word.empty() && word.size() <= 6 &&
                           word.find_first_not_of("0123456789") == std::string::npos;
    if (is_number && std::stoi(word) >= node.cores)
      throw UserError(
          "parallel.affinity = \"{}\": core {} does not exist; a node has the cores 0 to {}",
          affinity, word, node.cores - 1);
  }
}

}  // namespace

double NodePlaces::most_sharing() const { return *std::ranges::max_element(sharing); }

int NodePlaces::slowest() const {
  size_t slowest = 0;
  for (size_t rank = 1; rank < sharing.size(); ++rank)
    if (std::pair(sharing[rank], on_socket[rank]) > std::pair(sharing[slowest], on_socket[slowest]))
      slowest = rank;
  return static_cast<int>(slowest);
}

NodePlaces places_on_node(const std::string& affinity, const NodeKind& node, int ranks,
                          int training, int threads) {
  expect_on_node(affinity, node);
  NodePlaces places;
  places.cores = plan_affinity(affinity, ranks, threads, cores_of(node));
  std::map<int, double> load;     // threads of training ranks, by core
  std::map<int, double> trained;  // training ranks, by socket
  for (int rank = 0; rank < training; ++rank) {
    const std::vector<int>& mine = places.cores[static_cast<size_t>(rank)];
    const auto count = static_cast<double>(mine.size());
    for (const int core : mine) {
      load[core] += threads / count;
      trained[socket_of(node, core)] += 1 / count;
    }
  }
  const int evenly = (training + node.sockets - 1) / node.sockets;
  for (const std::vector<int>& mine : places.cores) {
    double sharing = 1, on_socket = mine.empty() ? evenly : 1;
    for (const int core : mine) {
      sharing = std::max(sharing, load[core]);
      on_socket = std::max(on_socket, trained[socket_of(node, core)]);
    }
    places.sharing.push_back(sharing);
    places.on_socket.push_back(static_cast<int>(std::ceil(on_socket)));
  }
  return places;
}

bool affinity_matters(const std::string& affinity, const Cluster& cluster) {
  const AffinityKind kind = affinity_kind(affinity);
  if (kind != AffinityKind::compact && kind != AffinityKind::scatter) return true;
  return std::ranges::any_of(cluster.kinds, [](const NodeKind& kind) { return kind.sockets > 1; });
}

}  // namespace lockstep
