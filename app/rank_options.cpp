#include "rank_options.h"

#include "base/error.h"
#include "comm/backend/mpi.h"
#include "data/load.h"
#include "job/hosts.h"
#include "job/launch.h"
#include "job/ranks.h"
#include "parallel/mesh/mesh.h"
#include "parallel/strategy.h"

namespace lockstep {

void add_rank_options(CLI::App& verb, RankOptions& options) {
  verb.add_option("--ranks", options.ranks, "same as --set parallel.ranks=N")
      ->check(CLI::Range(1, 100000));
  verb.add_option("--mesh", options.mesh,
                  "how ranks divide the network: data=2,pipeline=4 (replicas, stages of each)");
  verb.add_option("--backend", options.backend, "run ranks as MPI processes or as threads")
      ->check(CLI::IsMember(all_texts<Backend>()));
  verb.add_option("--affinity", options.affinity,
                  "bind ranks to cores: none, compact, scatter, or a list such as 0,1,2,4");
  verb.add_option(
      "--hosts", options.hosts,
      "run MPI ranks on these hosts, which ssh reaches: a,b:4,c (rank numbers after :)");
  verb.add_option("--cluster", options.cluster,
                  "run MPI ranks on an emulated cluster (lockstep cluster up)");
}

void apply(const RankOptions& options, RunConfig& config) {
  if (options.ranks > 0) config.parallel.ranks = options.ranks;
  if (!options.mesh.empty()) set_mesh(config.parallel, options.mesh);
  if (!options.backend.empty()) config.parallel.backend = *from_text<Backend>(options.backend);
  if (!options.affinity.empty()) config.parallel.affinity = options.affinity;
  const int started = mpi_job_size();
  if (started > 0 && options.ranks > 0 && options.ranks != started)
    throw UserError("--ranks {} in a job of {} ranks that mpiexec has started; leave out --ranks",
                    options.ranks, started);
  if (started > 0 || (options.hosts.empty() && options.cluster.empty())) {
    settle_ranks(config);
    return;
  }
  const Hosts hosts = hosts_of(options.hosts, options.cluster);
  if (options.ranks == 0) config.parallel.ranks = hosts.slots();
  if (options.backend.empty()) config.parallel.backend = Backend::mpi;
  settle_ranks(config);
  if (config.parallel.backend == Backend::threads)
    throw UserError("--backend threads runs all ranks in one process; leave it out to use {}",
                    options.hosts.empty() ? "--cluster" : "--hosts");
  training_ranks(config.parallel, static_cast<int>(config.parallel.ranks));
  expect_reachable(hosts);
  if (hosts.emulated)  // they reach no other network: missing data are fetched before
    load_data(config.data, static_cast<uint64_t>(config.seed), say_to_stderr);
  launch_ranks(config.parallel.ranks, hosts);
}

}  // namespace lockstep
