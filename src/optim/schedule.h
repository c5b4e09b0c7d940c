#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

// What the [schedule] section of a configuration says.
struct ScheduleConfig {
  std::string name = "constant";  // constant, step, cosine, linear
  double warmup_epochs = 0;       // the rate grows linearly from 0 over these
  int64_t warmup_steps = 0;       // the same in steps, where it is not 0
  double step_epochs = 10;        // step: multiplied by step_factor after every so many
  double step_factor = 0.1;
  double final_factor = 0;        // cosine, linear: what is left of the rate at the end
  bool scale_with_ranks = false;  // multiplied by the number of ranks
};

std::vector<std::string> schedule_names();

// The rate `epochs_done` epochs (a fraction within an epoch) into a run of `epochs`.
double learning_rate(const ScheduleConfig& schedule, double base, double epochs_done, double epochs,
                     int64_t ranks);

}  // namespace lockstep
