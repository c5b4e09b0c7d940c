#include "rank_options.h"

#include "base/error.h"
#include "comm/backend/mpi.h"
#include "job/ranks.h"

namespace lockstep {

void add_rank_options(CLI::App& verb, RankOptions& options) {
  verb.add_option("--ranks", options.ranks, "same as --set parallel.ranks=N")
      ->check(CLI::Range(1, 100000));
  verb.add_option("--backend", options.backend, "run ranks as MPI processes or as threads")
      ->check(CLI::IsMember(all_texts<Backend>()));
  verb.add_option("--affinity", options.affinity,
                  "bind ranks to cores: none, compact, scatter, or a list such as 0,1,2,4");
}

void apply(const RankOptions& options, RunConfig& config) {
  if (options.ranks > 0) config.parallel.ranks = options.ranks;
  if (!options.backend.empty()) config.parallel.backend = *from_text<Backend>(options.backend);
  if (!options.affinity.empty()) config.parallel.affinity = options.affinity;
  const int started = mpi_job_size();
  if (started > 0 && options.ranks > 0 && options.ranks != started)
    throw UserError("--ranks {} in a job of {} ranks that mpiexec has started; leave out --ranks",
                    options.ranks, started);
  settle_ranks(config);
}

}  // namespace lockstep
