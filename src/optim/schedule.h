#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

// The [schedule] section of a configuration.
struct ScheduleConfig {
  std::string name = "constant";  // constant, step, cosine, linear
  double warmup_epochs = 0;       // the rate grows linearly from 0 during these
  int64_t warmup_steps = 0;       // the same in steps; 0: warmup_epochs applies
  double step_epochs = 10;        // step: epochs between multiplications by step_factor
  double step_factor = 0.1;
  double final_factor = 0;        // cosine, linear: the final rate, as a fraction of the base rate
  bool scale_with_ranks = false;  // multiplied by the number of ranks
};

std::vector<std::string> schedule_names();

// The learning rate after `epochs_done` epochs, possibly fractional, of a run of `epochs`.
double learning_rate(const ScheduleConfig& schedule, double base, double epochs_done, double epochs,
                     int64_t ranks);

}  // namespace lockstep
