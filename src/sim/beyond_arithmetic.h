#pragma once

#include "sim/near_cores.h"
#include "train/held_batches.h"

namespace lockstep {

// What a step of two ranks takes beyond its arithmetic and messages: the code around them.
struct Beyond {
  double seconds = 0;
  double packed = 0;  // floats: with sparse inputs ranks tell each other their rows and pack them
};

// Both train, or one trains and the other is its parameter server. `cost`: of two ranks at once;
// `own_floats`: that a step of a rank for itself updates. Takes twice `seconds`, or a few times
// more while cores are not near.
enum class Pair { both_train, worker_and_server };
Beyond beyond_arithmetic(const RunConfig& config, const HeldBatches& held, Pair pair,
                         const NearCores& near, double seconds, const StepCost& cost,
                         int64_t own_floats);

}  // namespace lockstep
