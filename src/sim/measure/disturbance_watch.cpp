#include "sim/measure/disturbance_watch.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <functional>
#include <numeric>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/undisturbed.h"
#include "os/affinity.h"

namespace lockstep {
namespace {

// Limits above which a measurement counts as disturbed. The kernel and idle services stay below.
constexpr double most_of_others = 0.05;      // share of all cores
constexpr double most_of_others_core = 0.1;  // cores; applies to machines with few
constexpr double most_stolen = 0.03;         // share of the time that cores were busy
constexpr double most_arithmetic = 1.2;      // relative to the fastest
constexpr double most_spread = 0.35;         // of steps: median over undisturbed, minus 1
constexpr double largest_slowdown = 10;

// A few microseconds of arithmetic that leave none of a core's execution units free: two at the
// same time on one core took 1.97 times as long.
void do_known_work() {
  std::array<uint64_t, 8> numbers{1, 2, 3, 4, 5, 6, 7, 8};
  for (int i = 0; i < 1000; ++i)
    for (uint64_t& number : numbers) number = std::rotl(number, 7) ^ (number + 0x9E3779B97F4A7C15);
  [[maybe_unused]] volatile uint64_t used =
      std::accumulate(numbers.begin(), numbers.end(), uint64_t{0}, std::bit_xor());
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double used_by(int whom) {
  rusage usage{};
  ::getrusage(whom, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

Arithmetic arithmetic_of_one_core(const Clock& clock) {
  constexpr double settling = 0.03, measuring = 0.05;  // new threads may share a core for 20 ms
  const double begin = clock.seconds();
  while (clock.seconds() - begin < settling) do_known_work();
  std::vector<double> times;
  const double start = clock.seconds();
  for (double last = start; last - start < measuring;) {
    do_known_work();
    const double now = clock.seconds();
    times.push_back(now - last);
    last = now;
  }
  const double mean = (clock.seconds() - start) / static_cast<double>(times.size());
  return {undisturbed(std::move(times)), mean};
}

}  // namespace

int ThisMachine::cores() const { return static_cast<int>(allowed_cores().size()); }

double ThisMachine::now() const { return WallClock().seconds(); }

CoreSeconds ThisMachine::core_seconds() const {
  std::set<std::string> names;
  for (const Core& core : allowed_cores()) names.insert(fmt::format("cpu{}", core.id));
  const double tick = 1.0 / static_cast<double>(std::max(1L, ::sysconf(_SC_CLK_TCK)));
  CoreSeconds sum;
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, softirq = 0, steal = 0;
    words >> name >> user >> nice >> system >> idle >> waiting >> irq >> softirq >> steal;
    if (!names.contains(name)) continue;
    sum.busy += (user + nice + system + irq + softirq) * tick;
    sum.stolen += steal * tick;
  }
  sum.own = used_by(RUSAGE_SELF) + used_by(RUSAGE_CHILDREN);
  return sum;
}

Arithmetic ThisMachine::arithmetic() const {
  const WallClock clock;
  std::vector<Arithmetic> of_cores(static_cast<size_t>(cores()));
  std::vector<std::thread> threads;
  for (Arithmetic& one : of_cores)
    threads.emplace_back([&one, &clock] { one = arithmetic_of_one_core(clock); });
  for (std::thread& thread : threads) thread.join();
  Arithmetic all;
  for (const Arithmetic& one : of_cores) {
    all.fastest = std::max(all.fastest, one.fastest);
    all.mean += one.mean / static_cast<double>(of_cores.size());
  }
  return all;
}

void DisturbanceWatch::begin() {
  first_ = machine_.arithmetic();
  began_ = machine_.now();
  before_ = machine_.core_seconds();
}

Quietness DisturbanceWatch::end(double spread) {
  const CoreSeconds after = machine_.core_seconds();
  const double wall = std::max(1e-3, machine_.now() - began_);
  const Arithmetic last = machine_.arithmetic();
  for (const Arithmetic& one : {first_, last})
    if (fastest_ == 0 || one.fastest < fastest_) fastest_ = one.fastest;

  const double cores = machine_.cores(), busy = after.busy - before_.busy;
  const double others = std::max(0.0, busy - (after.own - before_.own)) / wall;
  const double stolen = (after.stolen - before_.stolen) / std::max(busy, wall);
  const double longer = std::max(first_.mean, last.mean) / fastest_;
  std::vector<std::string> reasons;
  if (others > std::max(most_of_others_core, most_of_others * cores))
    reasons.push_back(fmt::format("other programs used {:.2f} of {} cores", others, cores));
  if (stolen > most_stolen)
    reasons.push_back(fmt::format("the host took {:.0f}% of the time (steal)", stolen * 100));
  if (longer > most_arithmetic)
    reasons.push_back(fmt::format("arithmetic took {:.1f} times as long as at its best", longer));
  if (spread > most_spread)
    reasons.push_back(
        fmt::format("the median step took {:.1f} times as long as an undisturbed one", 1 + spread));
  if (reasons.empty()) return {};
  // Core time of other programs was not available to the measurement.
  const double without_others = cores / std::max(cores / largest_slowdown, cores - others);
  const double slowdown = std::max({without_others, 1 + stolen, longer, 1 + spread});
  return {fmt::format("{}", fmt::join(reasons, ", ")), std::min(slowdown, largest_slowdown)};
}

bool is_quiet_now(const ObservedMachine& machine, double fastest_arithmetic) {
  DisturbanceWatch watch(machine, fastest_arithmetic);
  watch.begin();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  return watch.end().quiet();
}

}  // namespace lockstep
