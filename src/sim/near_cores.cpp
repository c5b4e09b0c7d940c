#include "sim/near_cores.h"

#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>
#include <thread>

#include "base/undisturbed.h"
#include "comm/backend/threads.h"

namespace lockstep {
namespace {

double work_seconds(const Clock& clock) {
  double quickest = std::numeric_limits<double>::max();
  for (int i = 0; i < 5; ++i) {
    const double start = clock.seconds();
    do_known_work();
    quickest = std::min(quickest, clock.seconds() - start);
  }
  return quickest;
}

// What two ranks that are threads need now.
struct CoreState {
  double barrier = 0, work = 0;
};

CoreState state_of_cores() {
  CoreState state;
  run_thread_ranks(2, 60, [&](Communicator& ranks) {
    const WallClock clock;
    std::vector<double> barriers, works;
    // New threads may share a core for 20 ms.
    const double begin = clock.seconds();
    while (gather_all(ranks, clock.seconds() - begin)[0] < 0.05) {
      for (int i = 0; i < 100; ++i) {
        const double start = clock.seconds();
        ranks.barrier().wait();
        barriers.push_back(clock.seconds() - start);
      }
      works.push_back(work_of_both(ranks, clock));
    }
    if (ranks.rank() == 0) state = {undisturbed(barriers), undisturbed(works)};
  });
  return state;
}

double known(const std::map<std::string, SizeTable>& tables, const char* name) {
  const auto found = tables.find(name);
  return found == tables.end() ? 0 : found->second.at(0);
}

}  // namespace

void do_known_work() {
  std::array<uint64_t, 8> numbers{1, 2, 3, 4, 5, 6, 7, 8};
  for (int i = 0; i < 1000; ++i)
    for (uint64_t& number : numbers) number = std::rotl(number, 7) ^ (number + 0x9E3779B97F4A7C15);
  [[maybe_unused]] volatile uint64_t used =
      std::accumulate(numbers.begin(), numbers.end(), uint64_t{0}, std::bit_xor());
}

double work_of_both(Communicator& ranks, const Clock& clock) {
  ranks.barrier().wait();
  const std::vector<double> both = gather_all(ranks, work_seconds(clock));
  return std::max(both[0], both[1]);
}

double work_of_one(Communicator& ranks, const Clock& clock) {
  double mine = 0;
  for (int worker = 0; worker < 2; ++worker) {
    ranks.barrier().wait();
    if (ranks.rank() == worker)
      mine = work_seconds(clock);
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const std::vector<double> both = gather_all(ranks, mine);
  return std::min(both[0], both[1]);
}

NearCores::NearCores(const std::map<std::string, SizeTable>& tables)
    : barrier_(known(tables, "barrier")), work_(known(tables, "work")) {}

bool NearCores::now() const {
  constexpr double apart = 1.8;  // times as long as on near cores, for a barrier
  if (barrier_ == 0) return true;
  const CoreState state = state_of_cores();
  return state.barrier < apart * barrier_ && state.work < shared_core * work_;
}

void NearCores::wait() const {
  if (barrier_ == 0) return;
  int rests = 0;
  do std::this_thread::sleep_for(std::chrono::milliseconds(200));
  while (++rests < 10 && !now());
}

}  // namespace lockstep
