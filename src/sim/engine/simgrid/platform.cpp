#include "sim/engine/simgrid/platform.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "sim/engine/simgrid/simulated_time.h"

namespace lockstep {
namespace {

namespace s4u = simgrid::s4u;
using Policy = s4u::Link::SharingPolicy;

// Practically unlimited: messages within a node are charged to the ranks that copy them.
constexpr double local_bandwidth = 1e15;
// SimGrid creates about 100,000 links per second.
constexpr int64_t most_links = 500'000;

class Builder {
 public:
  Builder(const Cluster& cluster, int nodes, double local_latency, int threads)
      : cluster_(cluster), nodes_(nodes), local_latency_(local_latency), threads_(threads) {}

  std::vector<s4u::Host*> build() {
    switch (cluster_.topology) {
      case Topology::star:
        star(s4u::create_star_zone("cluster"), 0, nodes_)->seal();
        break;
      case Topology::tree:
        tree();
        break;
      case Topology::fat_tree: {
        const int leaf = std::min(cluster_.leaf, nodes_), leaves = (nodes_ + leaf - 1) / leaf;
        const int spines = leaves > 1 ? cluster_.spines : 1;
        expect_links(int64_t{leaves} * (leaf + spines));
        const auto size = [](int count) { return static_cast<unsigned>(count); };
        s4u::create_fatTree_zone(
            "cluster", nullptr, {2, {size(leaf), size(leaves)}, {1, size(spines)}, {1, 1}},
            callbacks(), cluster_.link.bandwidth, hop_latency(4), Policy::SPLITDUPLEX)
            ->seal();
        break;
      }
      case Topology::torus: {
        expect_links(int64_t{cluster_.nodes()} * static_cast<int64_t>(cluster_.shape.size()));
        const std::vector<unsigned long> shape(cluster_.shape.begin(), cluster_.shape.end());
        s4u::create_torus_zone("cluster", nullptr, shape, callbacks(), cluster_.link.bandwidth,
                               hop_latency(1), Policy::SPLITDUPLEX)
            ->seal();
        break;
      }
      case Topology::dragonfly: {
        expect_links(dragonfly_links());
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
  static void expect_links(int64_t links) {
    if (links > most_links)
      throw UserError(
          "SimGrid would have to simulate {} links of this network, more than {}; use --engine "
          "analytic, or a smaller cluster",
          links, most_links);
  }

  // All routers of a chassis, all chassis of a group and all groups are linked in pairs.
  int64_t dragonfly_links() const {
    const auto pairs = [](int64_t count) { return count * (count - 1) / 2; };
    const int64_t groups = cluster_.shape[0], chassis = cluster_.shape[1],
                  routers = cluster_.shape[2];
    return cluster_.nodes() + pairs(groups) +
           groups * (chassis * pairs(routers) + routers * pairs(chassis));
  }

  // The latency of a cluster file is program to program; it is divided among the links of a route.
  double hop_latency(int links) const { return cluster_.link.latency / links; }

  s4u::Host* host(s4u::NetZone* zone, int node) {
    const NodeKind& kind = cluster_.node(node);
    s4u::Host* made = zone->create_host(fmt::format("node{}", node),
                                        cluster_.speed_of(node) * SimulatedTime::flops_per_second);
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
      const auto direction = [&](const char* name, double bytes_per_second) {
        s4u::Link* link =
            zone->create_link(fmt::format("{}{}", name, node), std::max(1.0, bytes_per_second));
        link->set_latency(latency);
        link->seal();
        return s4u::LinkInRoute(link);
      };
      const s4u::LinkInRoute download = direction("download", cluster_.download_of(node));
      const s4u::LinkInRoute upload = cluster_.duplex == Duplex::half
                                          ? download
                                          : direction("upload", cluster_.upload_of(node));
      zone->add_route(made->get_netpoint(), nullptr, nullptr, nullptr, {upload}, false);
      zone->add_route(nullptr, made->get_netpoint(), nullptr, nullptr, {download}, false);
      made->seal();
      hosts_.push_back(made);
    }
    return zone;
  }

  void tree() {
    s4u::NetZone* root = s4u::create_star_zone("cluster");
    for (int begin = 0, leaf = 0; begin < nodes_; begin += cluster_.leaf, ++leaf) {
      s4u::NetZone* zone = s4u::create_star_zone(fmt::format("leaf{}", leaf));
      zone->set_parent(root);
      star(zone, begin, std::min(begin + cluster_.leaf, nodes_));
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
              // Places beyond the number of nodes hold empty hosts.
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
  int nodes_;  // in use
  double local_latency_;
  int threads_;
  std::vector<s4u::Host*> hosts_;
};

}  // namespace

std::vector<s4u::Host*> make_platform(const Cluster& cluster, int nodes, double local_latency,
                                      int threads_per_rank) {
  return Builder(cluster, nodes, local_latency, threads_per_rank).build();
}

}  // namespace lockstep
