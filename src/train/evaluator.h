#pragma once

#include <functional>

#include "base/clock.h"
#include "base/part.h"
#include "data/dataset.h"
#include "nn/program.h"
#include "train/observer.h"

namespace lockstep {

// Visits samples in order, a batch at a time; program.outputs() then has one row per sample.
using UseOutputs = std::function<void(const Batch& batch)>;
void run_forward(const Dataset& data, Part rows, Program& program, const Parameters& parameters,
                 const UseOutputs& use);

Evaluation evaluate(const Dataset& data, Part rows, Program& program, const Parameters& parameters,
                    const Clock& clock);

inline Part all_of(const Dataset& data) { return {0, data.size()}; }

}  // namespace lockstep
