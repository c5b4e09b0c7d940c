#pragma once

#include <string>
#include <vector>

#include "base/enum_text.h"
#include "os/files.h"

namespace lockstep {

struct Link {
  double bandwidth = 0;  // bytes a second, of payload
  double latency = 0;    // seconds, from one program to another
};

enum class Topology { star, tree, fat_tree, torus, dragonfly };
template <>
inline constexpr auto enum_texts<Topology> =
    std::array{"star", "tree", "fat-tree", "torus", "dragonfly"};

// Nodes that are alike.
struct NodeKind {
  int count = 1;
  int cores = 1;
  double speed = 1;   // of a core, against that of the profile's machine
  double memory = 0;  // bytes
  int sockets = 1;    // that its cores are on, as many on each
};

// What goes wrong.
struct Disturbance {
  double noise = 0;              // spread of a step's computing time: standard deviation, relative
  int stragglers = 0;            // so many of the last nodes ...
  double straggler_speed = 0.5;  // ... compute at this share of their speed
  double fails_at = 0;           // seconds into training: a node or its link is lost. 0: never
  double restart = 60;           // seconds until it goes on
};

// A cluster that may not exist.
struct Cluster {
  std::string name, about, source;
  std::vector<NodeKind> kinds;
  Topology topology = Topology::star;
  Link link;               // of a node
  Link uplink;             // tree: of a leaf switch
  int leaf = 0;            // tree, fat tree: nodes a leaf switch
  int spines = 1;          // fat tree
  std::vector<int> shape;  // torus: nodes a dimension; dragonfly: groups, chassis, routers, nodes
  double message_cpu = 0;  // seconds of a core for each byte received from another node
  Disturbance disturbance;
  bool is_this_machine = false;  // the one that was measured

  int nodes() const;
  int slots() const;  // cores of all nodes
  const NodeKind& node(int index) const;
  double speed_of(int node) const;  // stragglers included
  // Which node each rank runs on: node after node, `per_node` each.
  std::vector<int> place(int ranks, int per_node) const;
};

constexpr int most_nodes = 1'000'000;
constexpr int64_t most_cores = 100'000'000;  // of all nodes

// Throws a UserError that names file, line and key of what is missing, wrong or absurd.
Cluster parse_cluster(const std::string& text, const std::string& source);
// Sets "noise=0.1" and the like; several with commas between them.
void disturb(Cluster& cluster, const std::string& assignments);

// One node: the profile's machine.
Cluster machine_cluster(const std::string& machine, int cores, double memory, int sockets = 1);

// What names the measured machine among clusters.
inline constexpr const char* this_machine_cluster = "this";

}  // namespace lockstep
