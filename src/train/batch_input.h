#pragma once

#include "data/dataset.h"
#include "tensor/kernel.h"

namespace lockstep {

// A batch as the input and targets of a network.
inline Input input_of(const Batch& batch) {
  if (batch.begins.empty()) return batch.x.data();
  return SparseRows{batch.begins, batch.columns, batch.values};
}
inline Targets targets_of(const Batch& batch) {
  return {.labels = batch.labels, .values = batch.targets};
}

}  // namespace lockstep
