#pragma once

#include "data/say.h"
#include "sim/measure/disturbance_watch.h"
#include "sim/point/point.h"
#include "sim/profile/profile.h"

namespace lockstep {

// Measuring begins here. A profile holds what was measured of a machine: messages between two ranks
// (measure_messages) and the kernels of networks (measure_network). All of it is measured while a
// DisturbanceWatch looks on; what was disturbed is measured again, a few times at most, never
// replaces what was not, and is labelled.

// What may be done to know the costs of a point's network.
enum class Measuring {
  never,         // the profile is another machine's
  where_needed,  // what is missing, old or was disturbed
  once_more,     // the better of what is known and what is measured now is kept
  again          // what is known is replaced, unless the machine is busy
};

// This machine's profile from the cache; operations between ranks are measured now where they are
// missing, old, or were disturbed, or where they are to be measured again.
Profile machine_profile(Measuring measuring, const Say& say);

// Measures them once more, and keeps what is better.
void refine_tables(Profile& profile, const Say& say);

// In a job of two MPI ranks: measures operations between them; rank 0 writes the tables.
void measure_mpi_tables(const fs::path& path);

// Costs of the point's network on the profile's machine: from the profile, or measured now and then
// kept in it. A measurement that was disturbed is repeated, `attempts` times in all, and never
// replaces one that was not. Ranks with more threads than the machine has cores are extrapolated.
NetworkCosts costs_for(const SimulatedPoint& point, const DataSplits& data, Profile& profile,
                       Measuring measuring, int attempts = 3,
                       const ObservedMachine& machine = ThisMachine());

// Takes up a measurement of a network, as `measuring` has it.
void keep_measured(Profile& profile, const std::string& key, const NetworkCosts& measured,
                   Measuring measuring);

// Measures them once more, and keeps what is better.
void refine_costs(const SimulatedPoint& point, const DataSplits& data, Profile& profile,
                  double seconds);

}  // namespace lockstep
