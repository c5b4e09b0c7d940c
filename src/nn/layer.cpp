#include "nn/layer.h"

namespace lockstep {

int64_t arena_floats(const std::vector<ParameterSpec>& tensors) {
  int64_t total = 0;
  for (const ParameterSpec& tensor : tensors) total += aligned_floats(tensor.stored.elements());
  return total;
}

}  // namespace lockstep
