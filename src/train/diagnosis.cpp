#include "train/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "os/machine/identifier.h"
#include "parallel/strategy.h"

namespace lockstep {
namespace {

constexpr double worth_a_word = 0.1;  // share of the time that is worth reporting

double total(const StepTimes& t) { return t.load + t.compute + t.exposed + t.waiting; }

std::string percent(double share) { return fmt::format("{:.0f}%", share * 100); }

// Shares of the time, the largest first.
std::vector<std::pair<const char*, double>> shares_of(const ParallelFigures& f) {
  std::vector<std::pair<const char*, double>> shares = {
      {"computing", f.computing_share},
      {"exposed communication", f.exposed_share},
      {"waiting for slower ranks", f.waiting_share},
      {"loading samples", f.loading_share}};
  std::ranges::stable_sort(shares,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  return shares;
}

// Advises a batch with which computing takes ten times as long as communication is exposed now.
std::string communication_advice(const ParallelFigures& f) {
  if (const char* advice = strategy_named(f.strategy).traits({}).less_communication) return advice;
  const double factor = f.exposed_seconds / std::max(f.compute_seconds, 1e-9) / worth_a_word;
  const auto batch = std::bit_ceil(static_cast<uint64_t>(
      std::ceil(static_cast<double>(f.global_batch) * std::max(2.0, factor))));
  return fmt::format(
      "try a global batch >= {}, or strategy average-weights every 8 steps; both change what is "
      "learnt, so compare the accuracy",
      batch);
}

size_t slowest_rank(const ParallelFigures& f) {
  size_t slowest = 0;
  for (size_t r = 0; r < std::min(f.by_rank.size(), static_cast<size_t>(f.training)); ++r)
    if (f.by_rank[r].times.compute > f.by_rank[slowest].times.compute) slowest = r;
  return slowest;
}

double samples_of_replica(const ParallelFigures& f) {
  return static_cast<double>(f.global_batch * f.stages) / static_cast<double>(f.training);
}

// Compute time per sample, relative to the baseline; 0: unknown.
double slowdown_of_computing(const ParallelFigures& f) {
  if (!f.baseline || f.baseline->batch <= 0 || f.baseline->gradient_seconds <= 0) return 0;
  const double alone = f.baseline->gradient_seconds / static_cast<double>(f.baseline->batch);
  // The stages of a replica compute its samples one after the other.
  const auto stages = static_cast<double>(f.stages);
  return f.global_batch > 0 ? f.compute_seconds * stages / samples_of_replica(f) / alone : 0;
}

std::string why_ranks_wait(const ParallelFigures& f) {
  const size_t slowest = slowest_rank(f);
  const std::string& host = f.by_rank[slowest].host;
  if (f.stages == 1)
    return fmt::format(
        "ranks wait {} of the time; rank {} on host {} computes {} longer than the mean: is "
        "something else running there?",
        percent(f.waiting_share), slowest, host, percent(f.imbalance));
  return fmt::format(
      "stages wait {} of the time, of which {} is the bubble of the schedule (more micro-batches "
      "make it smaller: parallel.micro_batches); stage {} (rank {} on host {}) computes {} longer "
      "than the mean, and the others wait for it",
      percent(f.waiting_share), percent(f.bubble), static_cast<int64_t>(slowest) % f.stages,
      slowest, host, percent(f.imbalance));
}

// One sentence for each significant loss of time, the largest first.
std::vector<std::string> reasons(const ParallelFigures& f) {
  if (f.oversubscribed && !f.emulated_hosts)  // whose links are what is tried out
    return {fmt::format(
        "{} ranks share {} cores (oversubscribed): they take turns, so times say nothing about "
        "scaling; use at most one thread per core",
        f.ranks, f.cores)};
  std::vector<std::pair<double, std::string>> found;  // share of the time lost, sentence
  const double together = f.exposed_share + f.waiting_share;
  if (together > worth_a_word && f.compute_seconds < 200e-6) {
    found.emplace_back(
        together,
        fmt::format(
            "each step computes only {:.0f} microseconds, too little to share: ranks spend {} of "
            "the time on communication and waiting; use fewer ranks, or a larger batch (compare "
            "the accuracy)",
            f.compute_seconds * 1e6, percent(together)));
  } else {
    if (f.exposed_share > worth_a_word)
      found.emplace_back(
          f.exposed_share,
          fmt::format("each step sends {:.2g} MB and computes {:.2g} ms, and {} of the time is "
                      "exposed communication; {}",
                      static_cast<double>(f.bytes_per_step) / 1e6, f.compute_seconds * 1e3,
                      percent(f.exposed_share), communication_advice(f)));
    if (f.waiting_share > worth_a_word) found.emplace_back(f.waiting_share, why_ranks_wait(f));
  }
  if (f.loading_share > worth_a_word)
    found.emplace_back(f.loading_share, fmt::format("{} of the time goes into loading samples; try "
                                                    "data.workers = 2",
                                                    percent(f.loading_share)));
  if (const double slowdown = slowdown_of_computing(f); slowdown > 1.25) {
    const double mine = samples_of_replica(f);
    found.emplace_back(
        f.computing_share * (1 - 1 / slowdown),
        fmt::format("computing {:.0f} samples takes {:.3g} ms, alone it took {:.3g}: the cores "
                    "were busy with something else, or are shared by the ranks",
                    mine, f.compute_seconds * 1e3, f.compute_seconds * 1e3 / slowdown));
  }
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> texts;
  for (auto& [cost, text] : found) texts.push_back(std::move(text));
  return texts;
}

// Sets `bound` and `diagnosis`, which no other function does.
void diagnose(ParallelFigures& f) {
  const auto shares = shares_of(f);
  f.bound = fmt::format("{} ({} of the time)", shares[0].first, percent(shares[0].second));
  for (size_t i = 1; i < shares.size(); ++i)
    if (shares[i].second > 0.02)
      f.bound +=
          fmt::format("{}{} {}", i == 1 ? "; " : ", ", shares[i].first, percent(shares[i].second));
  if (f.oversubscribed) f.bound += ", on more threads than cores";
  if (f.emulated_hosts) f.bound += ", on emulated hosts";
  std::vector<std::string> all = reasons(f);
  if (f.baseline && f.speed_up < 1) {
    if (all.empty() && shares[1].second > 0.02)
      all.push_back(
          fmt::format("{} takes {} of the time", shares[1].first, percent(shares[1].second)));
    if (all.empty())
      all.emplace_back(
          "computing takes longer per sample than on one rank: batches per rank are smaller, or "
          "cores were busy");
    all.front() = fmt::format("slower than {} ({:.2f} times its speed): {}", f.baseline->run,
                              f.speed_up, all.front());
  }
  f.diagnosis = fmt::format("{}", fmt::join(all, "\n"));
}

}  // namespace

std::vector<RankTimes> gather_times(Communicator& ranks, const StepTimes& mine, int threads) {
  struct Mine {
    StepTimes times;
    CoreMask cores;
    int threads;
  };
  std::vector<RankTimes> all;
  const std::vector<std::string> hosts = gather_texts(ranks, ranks.host()),
                                 machines = gather_texts(ranks, machine_identifier());
  for (const Mine& m : gather_all(ranks, Mine{mine, core_mask(), threads}))
    all.push_back({hosts[all.size()], m.cores, m.threads, m.times, machines[all.size()]});
  return all;
}

std::vector<NamedFigure> gather_figures(Communicator& ranks, const std::vector<NamedFigure>& mine) {
  std::string text;
  for (const NamedFigure& f : mine) text += fmt::format("{} {}\n", f.name, f.value);
  std::vector<NamedFigure> figures;
  for (const std::string& lines : gather_texts(ranks, text)) {
    std::istringstream stream(lines);
    for (NamedFigure f; stream >> f.name >> f.value;) figures.push_back(f);
    if (!figures.empty()) break;
  }
  return figures;
}

ParallelFigures summarise(const std::vector<RankTimes>& ranks, int training, int64_t steps,
                          int64_t bytes_per_step, int64_t global_batch, const std::string& strategy,
                          int64_t stages, double bubble) {
  ParallelFigures f{.ranks = static_cast<int64_t>(ranks.size()),
                    .training = training,
                    .stages = stages,
                    .bubble = bubble,
                    .strategy = strategy,
                    .bytes_per_step = bytes_per_step,
                    .global_batch = global_batch};
  f.by_rank = ranks;
  struct Machine {
    CoreMask cores{};
    int threads = 0;
  };
  std::set<std::string> hosts;
  std::map<std::string, Machine> machines;
  for (const RankTimes& r : ranks) {
    hosts.insert(r.host);
    Machine& machine = machines[r.machine.empty() ? r.host : r.machine];
    for (size_t i = 0; i < r.cores.size(); ++i) machine.cores[i] |= r.cores[i];
    machine.threads += r.threads;
  }
  f.cores = 0;
  for (const auto& [name, machine] : machines) {
    int here = 0;
    for (const uint64_t word : machine.cores) here += std::popcount(word);
    f.oversubscribed = f.oversubscribed || machine.threads > here;
    f.cores += here;
  }
  f.hosts = static_cast<int64_t>(hosts.size());
  f.emulated_hosts = hosts.size() > machines.size();

  StepTimes sum;
  for (size_t r = 0; r < static_cast<size_t>(training); ++r) sum += ranks[r].times;
  const double all = std::max(total(sum), 1e-9), count = static_cast<double>(training);
  const double mean_compute = std::max(sum.compute / count, 1e-9);
  f.computing_share = sum.compute / all;
  f.hidden_share = sum.hidden / all;
  f.exposed_share = sum.exposed / all;
  f.waiting_share = sum.waiting / all;
  f.loading_share = sum.load / all;
  f.imbalance = ranks[slowest_rank(f)].times.compute / mean_compute - 1;

  const double each = count * static_cast<double>(std::max<int64_t>(1, steps));
  f.compute_seconds = sum.compute / each;
  f.exposed_seconds = sum.exposed / each;
  diagnose(f);
  return f;
}

void compare(ParallelFigures& f, const Baseline& baseline, double samples_per_second) {
  f.baseline = baseline;
  f.speed_up = samples_per_second / baseline.samples_per_second;
  f.efficiency = f.speed_up / static_cast<double>(f.ranks);
  diagnose(f);
}

}  // namespace lockstep
