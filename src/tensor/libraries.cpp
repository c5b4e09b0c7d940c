#include "tensor/libraries.h"

#include <fmt/core.h>
#include <hwy/highway.h>

#include <dnnl_version.h>

namespace lockstep {

std::string tensor_libraries() {
  return fmt::format("oneDNN {}.{}.{}, Highway {}.{}.{}", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR,
                     DNNL_VERSION_PATCH, HWY_MAJOR, HWY_MINOR, HWY_PATCH);
}

}  // namespace lockstep
