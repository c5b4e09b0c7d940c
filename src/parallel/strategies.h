#pragma once

#include "parallel/strategy.h"

namespace lockstep {

inline StepResult begin_step(const StepPlan& plan) {
  return {.step = plan.step + 1, .learning_rate = plan.learning_rate, .stop = plan.asked_to_stop};
}

// The registry: one entry per strategy, defined in the strategy's own file.
StrategyEntry all_reduce_entry();
StrategyEntry reduce_broadcast_entry();
StrategyEntry parameter_server_entry();
StrategyEntry average_weights_entry();
StrategyEntry average_gradients_entry();
StrategyEntry scatter_gather_entry();
StrategyEntry sandblaster_entry();

}  // namespace lockstep
