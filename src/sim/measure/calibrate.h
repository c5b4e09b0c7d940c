#pragma once

#include "data/say.h"
#include "sim/measure/disturbance_watch.h"
#include "sim/point/point.h"
#include "sim/profile/profile.h"

namespace lockstep {

// Entry point of measuring. A profile holds measurements of a machine: messages between two ranks
// (measure_messages) and the kernels of networks (measure_network). A DisturbanceWatch observes
// every measurement. Disturbed measurements are repeated a few times, never replace undisturbed
// ones, and are labelled.

// When to measure the costs of a point's network.
enum class Measuring {
  never,         // use the profile as it is
  where_needed,  // measure if missing, old or disturbed
  once_more,     // measure, and keep the better of old and new costs
  again          // measure, and replace old costs unless the machine is busy
};

// This machine's profile from the cache. With `where_needed`, operations between ranks are measured
// if they are missing, old or disturbed; with other values, always.
Profile machine_profile(Measuring measuring, const Say& say);

// Measures operations between ranks once more, and keeps the better tables.
void refine_tables(Profile& profile, const Say& say);

// Measures operations between two MPI ranks, which it starts if necessary; rank 0 writes the tables
// to `path`.
void measure_mpi_tables(const fs::path& path);

// Costs of the point's network on the profile's machine: from the profile, or measured now and
// added to it. A disturbed measurement is repeated, `attempts` measurements in total, and never
// replaces an undisturbed one. Ranks with more threads than the machine has cores are extrapolated.
NetworkCosts costs_for(const SimulatedPoint& point, const DataSplits& data, Profile& profile,
                       Measuring measuring, int attempts = 3,
                       const ObservedMachine& machine = ThisMachine());

// Adds a measurement of a network to the profile, as `measuring` says.
void keep_measured(Profile& profile, const std::string& key, const NetworkCosts& measured,
                   Measuring measuring);

// Measures the point's network once more for about `seconds`, and keeps the better costs.
void refine_costs(const SimulatedPoint& point, const DataSplits& data, Profile& profile,
                  double seconds);

}  // namespace lockstep
