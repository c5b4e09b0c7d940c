#pragma once

#include <functional>

#include "base/clock.h"
#include "data/dataset.h"
#include "nn/program.h"
#include "train/observer.h"

namespace lockstep {

// Visits all samples in order, a batch at a time: outputs hold one row a sample.
using UseOutputs = std::function<void(const Batch& batch, std::span<const float> outputs)>;
void run_forward(const Dataset& data, Program& program, const Parameters& parameters,
                 const UseOutputs& use);

Evaluation evaluate(const Dataset& data, Program& program, const Parameters& parameters,
                    const Clock& clock);

}  // namespace lockstep
