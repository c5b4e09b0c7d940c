#include "verbs/verbs.h"

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "cluster/emulated_cluster.h"
#include "cluster/named_cluster.h"
#include "job/hosts.h"
#include "job/launch.h"
#include "text.h"

namespace lockstep {
namespace {

struct Options {
  std::string cluster, congestion;
  std::vector<std::string> program;
  int64_t ranks = 0;
  bool all = false;
};

std::string hosts_table(const EmulatedCluster& cluster) {
  std::vector<std::vector<std::string>> rows = {{"host", "address", "ranks"}};
  for (const EmulatedHost& host : cluster.hosts)
    rows.push_back({host.name, host.address, std::to_string(host.slots)});
  return fmt::format("{} (emulated): {}\n{}", cluster.name, cluster.about, table(rows));
}

void bring_up_cluster(const Options& options) {
  const NamedCluster named = named_cluster(options.cluster);
  const EmulatedCluster up = bring_up(named.cluster, named.text, options.congestion);
  fmt::print("{}", hosts_table(up));
  fmt::print(stderr, "next: lockstep train cnn-690k --cluster {}; lockstep cluster down {}\n",
             up.name, up.name);
}

void list_clusters() {
  for (const EmulatedCluster& cluster : emulated_clusters())
    fmt::print("{}\n", hosts_table(cluster));
}

void take_clusters_down(const Options& options) {
  if (options.cluster.empty() && !options.all)
    throw UserError("name the cluster to take down, or --all; 'lockstep cluster list' lists them");
  if (!options.all) {
    take_down(find_emulated_cluster(options.cluster));
    return;
  }
  for (const EmulatedCluster& cluster : emulated_clusters()) take_down(cluster);
}

void run_on_cluster(const Options& options) {
  const Hosts hosts = emulated_hosts(options.cluster);
  launch_program(options.program, options.ranks > 0 ? options.ranks : hosts.slots(), hosts);
}

}  // namespace

void add_cluster_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      app.add_subcommand("cluster", R"(Emulate a small cluster on this machine, to try things on.

Hosts are network namespaces, and links have the bandwidths of a cluster file. 'train', 'bench' and
'crossval' run on them with --cluster NAME, as on real hosts. Processors are shared: links, not
computing, are as in the file. Needs root and Debian's packages iproute2 and openmpi-bin.

Examples:
  lockstep cluster up my-cluster.toml             make its hosts and links
  lockstep train mlp-1 --cluster my-cluster       one rank per core of the file
  lockstep cluster run my-cluster -- hostname     any MPI program
  lockstep cluster list
  lockstep cluster down my-cluster
)");
  verb->require_subcommand(1);
  CLI::App* up = verb->add_subcommand("up", "make the hosts and links of a cluster");
  up->add_option("cluster", options->cluster, "a TOML file, or a cluster of 'simulate --list'")
      ->required();
  up->add_option("--congestion", options->congestion,
                 "TCP congestion control of the hosts, such as reno (default: this machine's)");
  up->callback([options] { bring_up_cluster(*options); });
  CLI::App* list = verb->add_subcommand("list", "clusters that are up, and their hosts");
  list->callback([] { list_clusters(); });
  CLI::App* down = verb->add_subcommand("down", "end what runs on a cluster and remove it");
  down->add_option("cluster", options->cluster, "name of the cluster");
  down->add_flag("--all", options->all, "all clusters");
  down->callback([options] { take_clusters_down(*options); });
  CLI::App* run = verb->add_subcommand("run", "run an MPI program on the hosts");
  run->add_option("cluster", options->cluster, "name of the cluster")->required();
  run->add_option("--ranks", options->ranks, "number of ranks (default: one per core)")
      ->check(CLI::Range(1, 100000));
  run->add_option("program", options->program, "the program and its arguments, after --")
      ->required();
  run->callback([options] { run_on_cluster(*options); });
}

}  // namespace lockstep
