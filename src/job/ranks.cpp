#include "job/ranks.h"

#include <xxhash.h>

#include "base/clock.h"
#include "base/error.h"
#include "comm/backend/mpi.h"
#include "comm/backend/threads.h"
#include "data/sources/registry.h"
#include "job/launch.h"
#include "os/affinity.h"
#include "parallel/mesh/mesh.h"
#include "parallel/strategy.h"
#include "train/scattered_dataset.h"

namespace lockstep {
namespace {

// Index of this rank among the ranks on its host, and their number.
struct LocalRank {
  int index = 0, count = 0;
};

LocalRank local_rank(Communicator& ranks) {
  LocalRank local;
  const std::vector<std::string> hosts = gather_texts(ranks, ranks.host());
  for (int r = 0; r < ranks.size(); ++r) {
    if (hosts[static_cast<size_t>(r)] != ranks.host()) continue;
    if (r < ranks.rank()) ++local.index;
    ++local.count;
  }
  return local;
}

// Covers the labels of all samples and the contents of 16.
uint64_t digest(const Dataset& data) {
  XXH3_state_t* state = XXH3_createState();
  XXH3_64bits_reset(state);
  for (int64_t row = 0; row < data.size(); ++row) {
    const int32_t label = data.label(row);
    XXH3_64bits_update(state, &label, sizeof(label));
  }
  std::vector<int64_t> some;
  for (int64_t i = 0; i < 16; ++i) some.push_back(data.size() * i / 16);
  Batch batch;
  data.read(some, batch);
  XXH3_64bits_update(state, batch.x.data(), batch.x.size() * sizeof(float));
  XXH3_64bits_update(state, batch.values.data(), batch.values.size() * sizeof(float));
  XXH3_64bits_update(state, batch.targets.data(), batch.targets.size() * sizeof(float));
  const uint64_t value = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return value;
}

void expect_same(Communicator& ranks, uint64_t mine, const std::string& what,
                 const std::string& advice) {
  const std::vector<uint64_t> all = gather_all(ranks, mine);
  const std::vector<std::string> hosts = gather_texts(ranks, ranks.host());
  for (size_t r = 1; r < all.size(); ++r)
    if (all[r] != all[0])
      throw UserError("rank {} on host {} has {} than rank 0; {}", r, hosts[r], what, advice);
}

}  // namespace

bool holds_parts(const RunConfig& config) {
  return traits_of(config.parallel).root_deals_samples || config.data.reading == Reading::own_part;
}

void settle_ranks(RunConfig& config) {
  // Ranks that hold only a part of the samples have the same part in every epoch.
  if (holds_parts(config)) config.parallel.parts = Parts::contiguous;
  check(config);
  if (const int started = mpi_job_size(); started > 0) {
    config.parallel.ranks = started;
    config.parallel.backend = Backend::mpi;
  }
  mesh_of(config.parallel, static_cast<int>(config.parallel.ranks));  // may be impossible
}

void run_ranks(RunConfig& config, const std::function<void(Communicator&)>& rank_main) {
  const ParallelConfig& p = config.parallel;
  if (mpi_job_size() > 0)
    run_mpi_rank(p.timeout, rank_main);
  else if (p.ranks == 1 || p.backend == Backend::threads)
    run_thread_ranks(static_cast<int>(p.ranks), p.timeout, rank_main);
  else
    launch_ranks(p.ranks);
}

std::string resume_command(const std::string& verb, const fs::path& folder, Communicator& ranks) {
  const std::string rest = fmt::format("{} --resume {}", verb, shell_word(folder.string()));
  if (const std::string typed = typed_program(); !typed.empty())
    return shell_word(typed) + " " + rest;
  return fmt::format("mpiexec -n {} {} {}", ranks.size(), shell_word(own_words().front()), rest);
}

std::string bind_rank(const RunConfig& config, Communicator& ranks) {
  if (affinity_kind(config.parallel.affinity) == AffinityKind::none) return "";
  const LocalRank local = local_rank(ranks);
  const std::vector<Core> cores = allowed_cores();
  const std::vector<std::vector<int>> plan =
      plan_affinity(config.parallel.affinity, local.count, config.device.threads, cores);
  bind_to(plan[static_cast<size_t>(local.index)]);
  return affinity_map(plan, cores);
}

const DataSplits& SharedData::get(const RunConfig& config, Communicator& ranks, const Say& say) {
  const WallClock clock;
  const double start = clock.seconds();
  const auto load = [&](const OwnPart* own) {
    return load_data(config.data, static_cast<uint64_t>(config.seed),
                     ranks.rank() == 0 ? say : Say([](const std::string&) {}), nullptr, own);
  };
  const bool own_part = config.data.reading == Reading::own_part && ranks.size() > 1;
  // Posts are not scattered: every rank reads them.
  const bool scatters = traits_of(config.parallel).root_deals_samples && ranks.size() > 1 &&
                        find_source(config.data.name).kind != SampleKind::posts;
  DataSplits* mine = &all_;
  if (own_part || scatters) {
    const std::lock_guard lock(mutex_);
    mine = &parts_[ranks.rank()];
  }
  if (own_part) {
    // Servers need no samples, but reading is collective: they read the last part.
    const Mesh mesh = mesh_of(config.parallel, ranks.size());
    const int training = training_ranks(config.parallel, mesh.data);
    const OwnPart own{std::min(position_of(mesh, ranks.rank()).data, training - 1), training,
                      [&](const fs::path& path, uint64_t from, std::span<uint8_t> out) {
                        ranks.read_file(path.string(), static_cast<int64_t>(from),
                                        std::as_writable_bytes(out));
                      }};
    *mine = load(&own);
  } else if (scatters) {
    if (ranks.rank() == 0) *mine = load(nullptr);
    mine->train = scatter_samples(mine->train.get(), ranks);
  } else {
    if (ranks.rank() == 0) *mine = load(nullptr);
    ranks.barrier().wait();
    if (!mine->train) *mine = load(nullptr);
  }
  if (ranks.rank() == 0) seconds_ = clock.seconds() - start;
  return *mine;
}

void expect_agreement(const RunConfig& config, const DataSplits& data, Communicator& ranks) {
  if (ranks.size() == 1) return;
  const std::string text = to_toml(config);
  expect_same(ranks, XXH3_64bits(text.data(), text.size()), "a different configuration",
              "start all ranks with the same arguments and files");
  // Ranks hold different parts: nothing to compare.
  if (holds_parts(config)) return;
  expect_same(ranks, digest(*data.train), "different training samples",
              "check the data folder ($LOCKSTEP_DATA) on its host");
}

}  // namespace lockstep
