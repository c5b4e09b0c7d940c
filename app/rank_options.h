#pragma once

#include "CLI/CLI.hpp"
#include "config/run_config.h"

namespace lockstep {

// --ranks, --backend and --affinity.
struct RankOptions {
  int64_t ranks = 0;
  std::string backend, affinity;
};
void add_rank_options(CLI::App& verb, RankOptions& options);
void apply(const RankOptions& options, RunConfig& config);

}  // namespace lockstep
