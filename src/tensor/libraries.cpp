#include "tensor/libraries.h"

#include <fmt/core.h>
#include <hwy/highway.h>

#include <dnnl.hpp>

namespace lockstep {

std::string tensor_libraries() {
  const dnnl_version_t* v = dnnl::version();
  return fmt::format("oneDNN {}.{}.{}, Highway {}.{}.{}", v->major, v->minor, v->patch, HWY_MAJOR,
                     HWY_MINOR, HWY_PATCH);
}

}  // namespace lockstep
