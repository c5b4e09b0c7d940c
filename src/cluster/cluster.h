#pragma once

#include <string>
#include <vector>

#include "base/enum_text.h"
#include "os/files.h"

namespace lockstep {

struct Link {
  double bandwidth = 0;  // bytes per second, payload only
  double latency = 0;    // seconds, program to program
};

enum class Topology { star, tree, fat_tree, torus, dragonfly };
template <>
inline constexpr auto enum_texts<Topology> =
    std::array{"star", "tree", "fat-tree", "torus", "dragonfly"};

// Half: a link carries one direction at a time, as WLAN does.
enum class Duplex { full, half };
template <>
inline constexpr auto enum_texts<Duplex> = std::array{"full", "half"};

// Identical nodes.
struct NodeKind {
  int count = 1;
  int cores = 1;
  double speed = 1;                 // of a core, relative to the profile's machine
  double memory = 0;                // bytes
  int sockets = 1;                  // each with the same number of cores
  double download = 0, upload = 0;  // bytes per second of its link; 0: that of the network
};

// Simulated disturbances.
struct Disturbance {
  double noise = 0;              // sigma of the log-normal factor of computing times
  int stragglers = 0;            // number of slow nodes, counted from the last
  double straggler_speed = 0.5;  // relative to their normal speed
  double fails_at = 0;           // seconds into training when a node or its link is lost; 0: never
  double restart = 60;           // seconds to restart after the failure
};

// A cluster to simulate on; it need not exist.
struct Cluster {
  std::string name, about, source;
  std::vector<NodeKind> kinds;
  Topology topology = Topology::star;
  Link link;  // of a node
  Duplex duplex = Duplex::full;
  Link uplink;             // tree: of a leaf switch
  int leaf = 0;            // tree, fat tree: number of nodes per leaf switch
  int spines = 1;          // fat tree: number of spine switches
  std::vector<int> shape;  // torus: nodes per dimension; dragonfly: groups, chassis, routers, nodes
  double message_cpu = 0;  // core seconds per byte received from another node
  Disturbance disturbance;
  bool is_this_machine = false;  // the profile's machine

  int nodes() const;
  int slots() const;  // number of cores of all nodes
  const NodeKind& node(int index) const;
  double speed_of(int node) const;  // stragglers included
  // Bytes per second of a node's link, in each direction.
  double download_of(int node) const;
  double upload_of(int node) const;
  void scale_links(double factor);  // makes them faster
  // Node of each rank: nodes are filled in order, `per_node` ranks each.
  std::vector<int> place(int ranks, int per_node) const;
};

constexpr int most_nodes = 1'000'000;
constexpr int64_t most_cores = 100'000'000;  // of all nodes

// Throws a UserError that names the file, line and key of a missing or invalid value.
Cluster parse_cluster(const std::string& text, const std::string& source);
// Applies settings such as "noise=0.1"; several are separated by commas.
void disturb(Cluster& cluster, const std::string& assignments);

// All values of the cluster as text: two clusters with the same text give the same predictions.
std::string identity(const Cluster& cluster);

// One node: the profile's machine.
Cluster machine_cluster(const std::string& machine, int cores, double memory, int sockets = 1);

// Cluster name of the profile's machine.
inline constexpr const char* this_machine_cluster = "this";

}  // namespace lockstep
