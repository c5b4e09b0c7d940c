#include "os/machine/identifier.h"

#include <fstream>

namespace lockstep {

std::string machine_identifier() {
  std::string identifier;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), identifier);
  return identifier;
}

}  // namespace lockstep
