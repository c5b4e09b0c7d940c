#include "base/library.h"

#include <dlfcn.h>

#include <filesystem>

#include "base/error.h"

namespace lockstep {

namespace fs = std::filesystem;

void* load_symbol(const std::string& library, const std::string& symbol) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::string reasons;
  for (const fs::path& folder : {program, program / "../lib/lockstep"}) {
    // Global, because plug-ins of MPI look its symbols up.
    if (void* handle = ::dlopen((folder / library).c_str(), RTLD_NOW | RTLD_GLOBAL))
      if (void* found = ::dlsym(handle, symbol.c_str())) return found;
    const char* reason = ::dlerror();
    reasons += fmt::format("\n  {}", reason ? reason : "no such symbol");
  }
  throw Failure("cannot load {}; install lockstep again, with its packages:{}", library, reasons);
}

}  // namespace lockstep
