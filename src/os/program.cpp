#include "os/program.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <vector>

#include "base/error.h"

namespace lockstep {

namespace fs = std::filesystem;

fs::path install_prefix() {
  const char* given = std::getenv("LOCKSTEP_PREFIX");
  return given ? given : LOCKSTEP_PREFIX;
}

fs::path lockstep_program() {
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error);
  if (own.filename() == "lockstep") return own;
  std::vector<fs::path> places;
  if (const char* given = std::getenv("LOCKSTEP_PROGRAM")) places.emplace_back(given);
  places.push_back(own.parent_path() / "lockstep");
  places.emplace_back(install_prefix() / "bin/lockstep");
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    places.push_back(fs::path(folder) / "lockstep");
  for (const fs::path& place : places)
    if (::access(place.c_str(), X_OK) == 0) return place;
  throw Failure(
      "the program 'lockstep' is needed to start processes and was not found; install it, or set "
      "LOCKSTEP_PROGRAM to its path");
}

}  // namespace lockstep
