#pragma once

#include "study/study.h"

namespace lockstep {

// Where the runs of a point take place.
enum class Place { this_machine, emulated_hosts, simulation };

// What decides where points run.
struct MachineAbilities {
  int64_t cores = 1;
  bool emulates_hosts = false;  // it can make network namespaces

  static MachineAbilities of_this_machine();
};

Place place_of(const Study& study, const StudyPoint& point, const MachineAbilities& machine);

int64_t ranks_of(const Study& study, const StudyPoint& point);
int64_t processes_per_node(const Study& study, const StudyPoint& point);
// Number of cores that the point needs to have one for each thread.
int64_t cores_of(const Study& study, const StudyPoint& point);

}  // namespace lockstep
