// Where the points of a study run: here, on emulated hosts, or simulated.

#include "study/placement.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

Study study(const std::string& head, const std::string& point) {
  return parse_study("config = \"iris-mlp\"\n" + head + "[[points]]\nlabel = \"p\"\n" + point,
                     "s.toml", false);
}
Place place(const Study& s, const MachineAbilities& machine) {
  return place_of(s, s.points[0], machine);
}

constexpr MachineAbilities two_cores{.cores = 2, .emulates_hosts = false},
    root{.cores = 2, .emulates_hosts = true};
const std::string missing = "simulate_on = \"1gbe-4x8\"\nsimulate = \"missing\"\n";

TEST(Placement, NeedsACorePerThread) {
  const Study s = study(missing, "parallel.ranks = 3\ndevice.threads = 2\n");
  EXPECT_EQ(cores_of(s, s.points[0]), 6);
  const Study pinned = study(missing, "parallel.affinity = \"0,1,2,4\"\n");
  EXPECT_EQ(cores_of(pinned, pinned.points[0]), 5);
  const Study all = study(missing + "[set]\nparallel.ranks = 4\n", "train.batch = 8\n");
  EXPECT_EQ(cores_of(all, all.points[0]), 4);
}

TEST(Placement, SimulatesPointsThatTheMachineCannotRun) {
  EXPECT_EQ(place(study(missing, "parallel.ranks = 2\n"), two_cores), Place::this_machine);
  EXPECT_EQ(place(study(missing, "parallel.ranks = 3\n"), two_cores), Place::simulation);
  EXPECT_EQ(place(study(missing, "parallel.affinity = \"0,2\"\n"), two_cores), Place::simulation);
  EXPECT_EQ(place(study("", "parallel.ranks = 3\n"), two_cores), Place::this_machine);
}

TEST(Placement, PutsSeveralNodesOnEmulatedHostsOrSimulatesThem) {
  const Study s = study(missing, "nodes = 2\nparallel.ranks = 2\n");
  EXPECT_EQ(place(s, root), Place::emulated_hosts);
  EXPECT_EQ(place(s, two_cores), Place::simulation);
  // Emulated hosts share the cores of this machine.
  const Study many = study(missing, "nodes = 2\nparallel.ranks = 5\n");
  EXPECT_EQ(processes_per_node(many, many.points[0]), 3);
  EXPECT_EQ(place(many, root), Place::simulation);
}

TEST(Placement, SimulatesPointsBeyondAScale) {
  const std::string beyond = "simulate_on = \"1gbe-4x8\"\nsimulate_beyond = 2\n";
  EXPECT_EQ(place(study(beyond, "parallel.ranks = 2\n"), two_cores), Place::this_machine);
  EXPECT_EQ(place(study(beyond, "parallel.ranks = 4\nnodes = 4\n"), root), Place::simulation);
  EXPECT_EQ(place(study(beyond, "train.batch = 8\n"), two_cores), Place::this_machine);
}

}  // namespace
}  // namespace lockstep
