#include "data/fetch/folders.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "os/program.h"

namespace lockstep {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

fs::path cache_folder() {
  if (const std::string own = environment("LOCKSTEP_DATA"); !own.empty()) return own;
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty())
    return fs::path(cache) / "lockstep";
  if (const std::string home = environment("HOME"); !home.empty())
    return fs::path(home) / ".cache" / "lockstep";
  throw UserError("there is no folder for data sets: HOME is not set; set LOCKSTEP_DATA");
}

fs::path shipped_folder() {
  if (const std::string own = environment("LOCKSTEP_SHARE"); !own.empty()) return own;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  const std::vector<fs::path> places = {program / "../share/lockstep/data", program / "data",
                                        install_prefix() / "share/lockstep/data"};
  for (const fs::path& place : places)
    if (fs::exists(place / "iris.csv", error)) return place.lexically_normal();
  throw Failure(
      "the data shipped with the program is neither in {} nor in {}; install lockstep again, "
      "or set LOCKSTEP_SHARE to the folder that holds iris.csv",
      places[0].lexically_normal().string(), places[1].lexically_normal().string());
}

ScratchFolder::ScratchFolder(const fs::path& parent) {
  std::string name = (parent / ".making-XXXXXX").string();
  if (!::mkdtemp(name.data()))
    throw Failure("cannot make a folder in {}: {}", parent.string(), std::strerror(errno));
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;  // a destructor cannot report it; the name marks the folder as temporary
  fs::remove_all(path_, ignored);
}

}  // namespace lockstep
