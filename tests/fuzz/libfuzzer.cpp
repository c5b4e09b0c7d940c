// The program that libFuzzer drives. LOCKSTEP_FUZZ_TARGET names the target; the target's seeds are
// written to the folder LOCKSTEP_FUZZ_SEEDS. With -targets it lists the targets.

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "fuzz_target.h"

namespace {

const lockstep::FuzzTarget* chosen = nullptr;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
  const bool list = *count > 1 && std::strcmp((*words)[1], "-targets") == 0;
  for (const lockstep::FuzzTarget& target : lockstep::fuzz_targets()) {
    if (list) fmt::print("{}\n", target.name);
    if (target.name == environment("LOCKSTEP_FUZZ_TARGET")) chosen = &target;
  }
  if (list) std::exit(0);
  if (!chosen) {
    fmt::print(stderr, "fuzz: LOCKSTEP_FUZZ_TARGET is not one of -targets\n");
    std::exit(2);
  }
  if (const std::string folder = environment("LOCKSTEP_FUZZ_SEEDS"); !folder.empty()) {
    const std::vector<std::string> seeds = chosen->seeds();
    for (size_t i = 0; i < seeds.size(); ++i)
      lockstep::write_file(lockstep::fs::path(folder) / fmt::format("seed-{}", i), seeds[i]);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::run(*chosen, {data, size});
  return 0;
}
