#pragma once

#include <functional>
#include <optional>

#include "base/clock.h"
#include "base/part.h"
#include "data/dataset.h"
#include "nn/program.h"
#include "train/observer.h"
#include "train/replica.h"

namespace lockstep {

// Runs samples through the network in order and calls `use` for each batch, when program.outputs()
// has one row per sample.
using UseOutputs = std::function<void(const Batch& batch)>;
void run_forward(const Dataset& data, Part rows, Program& program, const Parameters& parameters,
                 const UseOutputs& use);

Evaluation evaluate(const Dataset& data, Part rows, Program& program, const Parameters& parameters,
                    const Clock& clock);

// The same on all ranks together. Each rank evaluates a part where all hold the same weights and
// samples; else rank 0 evaluates all. Empty where no rank has samples. All ranks call it.
std::optional<Evaluation> evaluate_together(const Dataset* data, Replica& replica,
                                            Communicator& ranks, const Clock& clock);

inline Part all_of(const Dataset& data) { return {0, data.size()}; }

}  // namespace lockstep
