#include "sim/simgrid/platform.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/simgrid/simulated_time.h"

namespace lockstep {
namespace {

namespace s4u = simgrid::s4u;
using Policy = s4u::Link::SharingPolicy;

// Messages within a node are paid for by the ranks that copy them.
constexpr double local_bandwidth = 1e15;

class Builder {
 public:
  Builder(const Cluster& cluster, double local_latency, int threads)
      : cluster_(cluster), local_latency_(local_latency), threads_(threads) {}

  std::vector<s4u::Host*> build() {
    switch (cluster_.topology) {
      case Topology::star:
        star(s4u::create_star_zone("cluster"), 0, cluster_.nodes())->seal();
        break;
      case Topology::tree:
        tree();
        break;
      case Topology::fat_tree: {
        const auto leaf = static_cast<unsigned>(cluster_.leaf);
        const auto leaves =
            static_cast<unsigned>((cluster_.nodes() + cluster_.leaf - 1) / cluster_.leaf);
        s4u::create_fatTree_zone(
            "cluster", nullptr,
            {2, {leaf, leaves}, {1, static_cast<unsigned>(cluster_.spines)}, {1, 1}}, callbacks(),
            cluster_.link.bandwidth, hop_latency(4), Policy::SPLITDUPLEX)
            ->seal();
        break;
      }
      case Topology::torus: {
        const std::vector<unsigned long> shape(cluster_.shape.begin(), cluster_.shape.end());
        s4u::create_torus_zone("cluster", nullptr, shape, callbacks(), cluster_.link.bandwidth,
                               hop_latency(1), Policy::SPLITDUPLEX)
            ->seal();
        break;
      }
      case Topology::dragonfly: {
        const auto part = [&](size_t i) { return static_cast<unsigned>(cluster_.shape[i]); };
        s4u::create_dragonfly_zone("cluster", nullptr,
                                   {{part(0), 1}, {part(1), 1}, {part(2), 1}, part(3)}, callbacks(),
                                   cluster_.link.bandwidth, hop_latency(3), Policy::SPLITDUPLEX)
            ->seal();
        break;
      }
    }
    return hosts_;
  }

 private:
  // The latency of a file is from program to program; a way of so many links shares it.
  double hop_latency(int links) const { return cluster_.link.latency / links; }

  s4u::Host* host(s4u::NetZone* zone, int node) {
    const NodeKind& kind = cluster_.node(node);
    s4u::Host* made = zone->create_host(fmt::format("node{}", node),
                                        cluster_.speed_of(node) * SimulatedTime::flops_a_second);
    made->set_core_count(std::max(1, kind.cores / threads_));
    return made;
  }

  s4u::Link* loopback(s4u::NetZone* zone, int node) {
    s4u::Link* link = zone->create_link(fmt::format("local{}", node), local_bandwidth);
    link->set_latency(local_latency_);
    link->set_sharing_policy(Policy::FATPIPE);
    link->seal();
    return link;
  }

  // Nodes [begin, end) around one switch.
  s4u::NetZone* star(s4u::NetZone* zone, int begin, int end) {
    const double latency = hop_latency(2);
    for (int node = begin; node < end; ++node) {
      s4u::Host* made = host(zone, node);
      zone->add_route(made->get_netpoint(), made->get_netpoint(), nullptr, nullptr,
                      {{loopback(zone, node), s4u::LinkInRoute::Direction::NONE}}, false);
      s4u::SplitDuplexLink* link = zone->create_split_duplex_link(
          fmt::format("link{}", node), std::max(1.0, cluster_.link.bandwidth));
      link->set_latency(latency);
      link->seal();
      zone->add_route(made->get_netpoint(), nullptr, nullptr, nullptr,
                      {{link, s4u::LinkInRoute::Direction::UP}}, true);
      made->seal();
      hosts_.push_back(made);
    }
    return zone;
  }

  void tree() {
    s4u::NetZone* root = s4u::create_star_zone("cluster");
    for (int begin = 0, leaf = 0; begin < cluster_.nodes(); begin += cluster_.leaf, ++leaf) {
      s4u::NetZone* zone = s4u::create_star_zone(fmt::format("leaf{}", leaf));
      zone->set_parent(root);
      star(zone, begin, std::min(begin + cluster_.leaf, cluster_.nodes()));
      auto* gateway = zone->create_router(fmt::format("switch{}", leaf));
      zone->seal();
      s4u::SplitDuplexLink* link =
          root->create_split_duplex_link(fmt::format("uplink{}", leaf), cluster_.uplink.bandwidth);
      link->set_latency(cluster_.uplink.latency / 2);
      link->seal();
      root->add_route(zone->get_netpoint(), nullptr, gateway, nullptr,
                      {{link, s4u::LinkInRoute::Direction::UP}}, true);
    }
    root->seal();
  }

  s4u::ClusterCallbacks callbacks() {
    return {[this](s4u::NetZone* zone, const std::vector<unsigned long>&, unsigned long) {
              // Places beyond the nodes stay empty machines.
              const int node = static_cast<int>(hosts_.size());
              s4u::Host* made = node < cluster_.nodes()
                                    ? host(zone, node)
                                    : zone->create_host(fmt::format("empty{}", node), 1e9);
              made->seal();
              hosts_.push_back(made);
              return std::pair<simgrid::kernel::routing::NetPoint*,
                               simgrid::kernel::routing::NetPoint*>(made->get_netpoint(), nullptr);
            },
            [this](s4u::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
              return loopback(zone, static_cast<int>(id));
            },
            {}};
  }

  const Cluster& cluster_;
  double local_latency_;
  int threads_;
  std::vector<s4u::Host*> hosts_;
};

}  // namespace

std::vector<s4u::Host*> make_platform(const Cluster& cluster, double local_latency,
                                      int threads_a_rank) {
  return Builder(cluster, local_latency, threads_a_rank).build();
}

}  // namespace lockstep
