#include "train/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

namespace lockstep {
namespace {

constexpr double worth_a_word = 0.1;  // of the time

double total(const StepTimes& t) { return t.load + t.compute + t.exposed + t.waiting; }

std::string communication_bound(const ParallelFigures& f, double compute, double exposed) {
  // A batch that makes computing ten times as long as what is exposed now.
  const double factor = exposed / std::max(compute, 1e-9) / worth_a_word;
  const auto batch = std::bit_ceil(static_cast<uint64_t>(
      std::ceil(static_cast<double>(f.global_batch) * std::max(2.0, factor))));
  const std::string advice =
      f.strategy == "average-weights"
          ? "average less often (parallel.average, parallel.average_steps)"
          : fmt::format("try a global batch >= {}, or strategy average-weights every 8 steps",
                        batch);
  return fmt::format("each step sends {:.2g} MB and computes {:.2g} ms: communication-bound; {}",
                     static_cast<double>(f.bytes_per_step) / 1e6, compute * 1e3, advice);
}

}  // namespace

std::vector<RankTimes> gather_times(Communicator& ranks, const StepTimes& mine, int threads) {
  struct Mine {
    StepTimes times;
    CoreMask cores;
    int threads;
  };
  std::vector<RankTimes> all;
  const std::vector<std::string> hosts = gather_texts(ranks, ranks.host());
  for (const Mine& m : gather_all(ranks, Mine{mine, core_mask(), threads}))
    all.push_back({hosts[all.size()], m.cores, m.threads, m.times});
  return all;
}

ParallelFigures summarise(const std::vector<RankTimes>& ranks, int training, int64_t steps,
                          int64_t bytes_per_step, int64_t global_batch,
                          const std::string& strategy) {
  ParallelFigures f{.ranks = static_cast<int64_t>(ranks.size()),
                    .strategy = strategy,
                    .bytes_per_step = bytes_per_step,
                    .global_batch = global_batch};
  f.by_rank = ranks;
  struct Host {
    CoreMask cores{};
    int threads = 0;
  };
  std::map<std::string, Host> hosts;
  for (const RankTimes& r : ranks) {
    Host& host = hosts[r.host];
    for (size_t i = 0; i < r.cores.size(); ++i) host.cores[i] |= r.cores[i];
    host.threads += r.threads;
  }
  int cores = 0;
  for (const auto& [name, host] : hosts) {
    int here = 0;
    for (const uint64_t word : host.cores) here += std::popcount(word);
    f.oversubscribed = f.oversubscribed || host.threads > here;
    cores += here;
  }
  f.hosts = static_cast<int64_t>(hosts.size());

  StepTimes sum;
  size_t slowest = 0;
  for (size_t r = 0; r < static_cast<size_t>(training); ++r) {
    const StepTimes& t = ranks[r].times;
    sum += t;
    if (t.compute > ranks[slowest].times.compute) slowest = r;
  }
  const double all = std::max(total(sum), 1e-9), count = static_cast<double>(training);
  const double mean_compute = std::max(sum.compute / count, 1e-9);
  f.computing_share = sum.compute / all;
  f.hidden_share = sum.hidden / all;
  f.exposed_share = sum.exposed / all;
  f.waiting_share = sum.waiting / all;
  f.loading_share = sum.load / all;
  f.imbalance = ranks[slowest].times.compute / mean_compute - 1;

  const double each = count * static_cast<double>(std::max<int64_t>(1, steps));
  if (f.oversubscribed)
    f.diagnosis = fmt::format(
        "{} ranks share {} cores (oversubscribed): they take turns, so times say nothing about "
        "scaling; use at most one thread a core",
        f.ranks, cores);
  else if (f.exposed_share + f.waiting_share > worth_a_word && sum.compute / each < 200e-6)
    f.diagnosis = fmt::format(
        "each step computes {:.0f} microseconds only, too little to share: ranks spend {:.0f}% of "
        "the "
        "time on each other; use fewer ranks or a larger batch",
        sum.compute / each * 1e6, (f.exposed_share + f.waiting_share) * 100);
  else if (f.exposed_share > worth_a_word && f.exposed_share >= f.waiting_share)
    f.diagnosis = communication_bound(f, sum.compute / each, sum.exposed / each);
  else if (f.waiting_share > worth_a_word)
    f.diagnosis = fmt::format(
        "ranks wait {:.0f}% of the time; rank {} on host {} computes {:.0f}% longer than the mean: "
        "is something else running there?",
        f.waiting_share * 100, slowest, ranks[slowest].host, f.imbalance * 100);
  else if (f.loading_share > worth_a_word)
    f.diagnosis = fmt::format("{:.0f}% of the time goes into loading samples; try data.workers = 2",
                              f.loading_share * 100);
  return f;
}

}  // namespace lockstep
