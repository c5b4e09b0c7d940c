#pragma once

#include <map>
#include <string>

#include "base/clock.h"
#include "comm/communicator.h"
#include "sim/costs.h"

namespace lockstep {

// The host of a virtual machine moves its cores about. Apart, in other caches, messages between
// them take several times as long; both on one core of the host, messages are quicker and work
// takes nearly twice as long. Training is at its best in neither state, and what is compared must
// have been measured in the same one.
class NearCores {
 public:
  // `tables`: what thread ranks were measured to need; with none, cores are taken to be near.
  explicit NearCores(const std::map<std::string, SizeTable>& tables);

  bool now() const;
  void wait() const;  // for a few seconds at most; mostly they are after a rest

  // Again, a few times at most, if it says that it was not enough or cores were moved meanwhile;
  // for the latter not after `patience` seconds.
  template <typename Measure>
  void run(Measure measure, double patience = 60) const {
    const WallClock clock;
    const double start = clock.seconds();
    for (int attempt = 0; attempt < 5; ++attempt) {
      wait();
      const bool enough = measure();
      if (enough && (clock.seconds() - start > patience || now())) return;
    }
  }

 private:
  double barrier_ = 0, work_ = 0;  // seconds, on near cores
};

// Arithmetic of a few microseconds that leaves none of a core's units to anyone else: two at once
// on one core took 1.97 times as long.
void do_known_work();

// How long it takes, by which the states are told from each other. Both ranks call it.
double work_of_both(Communicator& ranks, const Clock& clock);  // at once: the longer
double work_of_one(Communicator& ranks, const Clock& clock);  // while the other sleeps: the shorter

// Work that takes so many times as long for both was done on one core of the host.
constexpr double shared_core = 1.6;

}  // namespace lockstep
