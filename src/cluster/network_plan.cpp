#include "cluster/network_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {
namespace {

// Share of an Ethernet frame that TCP can use, with time stamps.
constexpr double payload = 1448.0 / 1514;

// A link forwards packets whole, and an idle one saves up a burst. Both are limited to about a
// millisecond: the network stack would hand over 64 KB at once, which takes 26 ms at 20 Mbit/s.
void shape(LinkCommands& commands, const std::string& interface, double bytes_per_second) {
  const double raw = bytes_per_second / payload;
  const auto millisecond = static_cast<int64_t>(raw / 1000);
  const int64_t packet = std::clamp<int64_t>(millisecond, 3000, 65536);
  const int64_t burst = std::max({int64_t{8192}, packet + 1600, millisecond});
  commands.ip += fmt::format("link set dev {} gso_max_size {}\n", interface, packet);
  commands.tc += fmt::format("qdisc replace dev {} root tbf rate {:.0f}bit burst {} latency 1s\n",
                             interface, raw * 8, burst);
}

void add_bridge(LinkCommands& commands, const std::string& name) {
  commands.ip += fmt::format("link add {} type bridge\nlink set {} up\n", name, name);
}

}  // namespace

std::string address_of_host(int host) {
  return fmt::format("10.79.{}.{}", host / 250, host % 250 + 1);
}

NetworkPlan plan_network(const Cluster& cluster, const std::vector<int>& hosts) {
  NetworkPlan plan;
  LinkCommands& switches = plan.switches;
  const bool tree = cluster.topology == Topology::tree;
  const auto switch_of = [&](int host) {
    return tree ? fmt::format("leaf{}", host / cluster.leaf) : std::string("switch");
  };
  add_bridge(switches, "switch");
  const int count = static_cast<int>(hosts.size());
  for (int host = 0; tree && host < count; host += cluster.leaf) {
    const int leaf = host / cluster.leaf;
    const std::string up = fmt::format("up{}", leaf), down = fmt::format("down{}", leaf);
    add_bridge(switches, switch_of(host));
    switches.ip += fmt::format("link add {} type veth peer name {}\n", up, down);
    switches.ip += fmt::format("link set {} master {} up\n", up, switch_of(host));
    switches.ip += fmt::format("link set {} master switch up\n", down);
    for (const std::string& end : {up, down}) shape(switches, end, cluster.uplink.bandwidth);
  }
  for (int host = 0; host < count; ++host) {
    const std::string port = fmt::format("port{}", host);
    switches.ip += fmt::format("link add {} type veth peer name eth0 netns {}\n", port,
                               hosts[static_cast<size_t>(host)]);
    switches.ip += fmt::format("link set {} master {} up\n", port, switch_of(host));
    shape(switches, port, cluster.download_of(host));
    LinkCommands& own = plan.hosts.emplace_back();
    own.ip = fmt::format("link set lo up\naddr add {}/16 dev eth0\nlink set eth0 up\n",
                         address_of_host(host));
    shape(own, "eth0", cluster.upload_of(host));
  }
  return plan;
}

}  // namespace lockstep
