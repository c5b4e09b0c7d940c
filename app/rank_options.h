#pragma once

#include "CLI/CLI.hpp"
#include "config/run_config.h"

namespace lockstep {

// --ranks, --mesh, --backend, --affinity, --hosts and --cluster.
struct RankOptions {
  int64_t ranks = 0;
  std::string mesh, backend, affinity, hosts, cluster;
};
void add_rank_options(CLI::App& verb, RankOptions& options);
// With --hosts or --cluster, starts the ranks there and does not return.
void apply(const RankOptions& options, RunConfig& config);

}  // namespace lockstep
