#include "os/library.h"

#include <dlfcn.h>

#include "base/error.h"
#include "os/program.h"

namespace lockstep {

namespace fs = std::filesystem;

std::vector<fs::path> library_places(const std::string& library) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  return {program / library, program / "../lib/lockstep" / library,
          install_prefix() / "lib/lockstep" / library};
}

void* load_symbol(const std::string& library, const std::string& symbol) {
  std::string reasons;
  for (const fs::path& place : library_places(library)) {
    // RTLD_GLOBAL, because plug-ins of MPI look up its symbols.
    if (void* handle = ::dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL))
      if (void* found = ::dlsym(handle, symbol.c_str())) return found;
    const char* reason = ::dlerror();
    reasons += fmt::format("\n  {}", reason ? reason : "no such symbol");
  }
  throw Failure("cannot load {}; reinstall lockstep and the packages it needs:{}", library,
                reasons);
}

}  // namespace lockstep
