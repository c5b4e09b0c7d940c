#include "optim/schedule.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/nearest.h"

namespace lockstep {
namespace {

// Each maps (epochs done after the warm-up, their total number) to a factor.
double constant(const ScheduleConfig&, double, double) { return 1; }

double step(const ScheduleConfig& s, double done, double) {
  return std::pow(s.step_factor, std::floor(done / s.step_epochs));
}

double cosine(const ScheduleConfig& s, double done, double of) {
  constexpr double pi = 3.14159265358979323846;
  const double wave = 0.5 * (1 + std::cos(pi * std::min(1.0, done / of)));
  return s.final_factor + (1 - s.final_factor) * wave;
}

double linear(const ScheduleConfig& s, double done, double of) {
  return 1 - (1 - s.final_factor) * std::min(1.0, done / of);
}

struct Named {
  const char* name;
  double (*factor)(const ScheduleConfig&, double, double);
};
constexpr Named schedules[] = {
    {"constant", constant}, {"step", step}, {"cosine", cosine}, {"linear", linear}};

}  // namespace

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const Named& schedule : schedules) names.emplace_back(schedule.name);
  return names;
}

double learning_rate(const ScheduleConfig& config, double base, double epochs_done, double epochs,
                     int64_t ranks) {
  if (config.scale_with_ranks) base *= static_cast<double>(ranks);
  if (epochs_done < config.warmup_epochs) return base * epochs_done / config.warmup_epochs;
  for (const Named& schedule : schedules)
    if (config.name == schedule.name) {
      const double done = epochs_done - config.warmup_epochs;
      const double of = std::max(1e-9, epochs - config.warmup_epochs);
      return base * schedule.factor(config, done, of);
    }
  throw UserError("schedule.name = \"{}\" is not known; {}", config.name,
                  suggestion(config.name, schedule_names()));
}

}  // namespace lockstep
