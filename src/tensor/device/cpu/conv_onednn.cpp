#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "tensor/device/cpu/conv_algorithms.h"
#include "tensor/onednn/convolutions.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// Looked for beside the program, as built, and in lib/lockstep, as installed.
const OneDnnConvolutions& onednn() {
  static const OneDnnConvolutions* loaded = [] {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
    std::string reasons;
    for (const fs::path& folder : {program, program / "../lib/lockstep"}) {
      const fs::path path = folder / "lockstep_onednn.so";
      if (void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
        return static_cast<const OneDnnConvolutions*>(
            ::dlsym(library, "lockstep_onednn_convolutions"));
      reasons += fmt::format("\n  {}", ::dlerror());
    }
    throw Failure("cannot load lockstep_onednn.so; install lockstep again:{}", reasons);
  }();
  return *loaded;
}

// Building a primitive and reordering cost about 50 microseconds a call; of many shapes measured,
// it is ahead of the others on few and by little (build/conv_algorithms).
double cost(const ConvSpec& s) {
  return s.flops() / 60 + 50000.0 / static_cast<double>(s.batch) +
         2 * static_cast<double>(s.in.elements() + s.out.elements());
}

}  // namespace

ConvCandidate<ConvForward> onednn_forward() {
  return {"onednn", cost,
          [](const ConvSpec& s, ThreadPool& pool) { return onednn().forward(s, pool); }};
}

ConvCandidate<ConvWeightGradient> onednn_weight_gradient() {
  return {"onednn", cost,
          [](const ConvSpec& s, ThreadPool& pool) { return onednn().weight_gradient(s, pool); }};
}

ConvCandidate<ConvInputGradient> onednn_input_gradient() {
  return {"onednn", cost,
          [](const ConvSpec& s, ThreadPool& pool) { return onednn().input_gradient(s, pool); }};
}

}  // namespace lockstep
