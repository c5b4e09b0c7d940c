#include "train/record/versions.h"

#include <fmt/core.h>

#include "tensor/libraries.h"

namespace lockstep {

std::string versions_text() {
  return fmt::format("lockstep {}, {}, compiled by {}", LOCKSTEP_VERSION, tensor_libraries(),
                     __VERSION__);
}

}  // namespace lockstep
