#pragma once

#include "parallel/worker.h"

namespace lockstep {

// What the stages of a pipeline exchange in a step beyond activations and their gradients.

// Sums the gradients of the first tensor over the stages that have it (a table used by the first
// and the last layers): both then make the same update.
void share_borrowed_tensor(Worker& worker);

// The norm of all gradients, added in the order of one rank, and on every stage the loss, the
// number of correct predictions, and whether a rank was asked to stop.
double stages_together(Worker& worker, StepResult& result);

}  // namespace lockstep
