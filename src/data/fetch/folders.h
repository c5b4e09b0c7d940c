#pragma once

#include "os/files.h"

namespace lockstep {

// Where fetched data sets are kept: $LOCKSTEP_DATA, else $XDG_CACHE_HOME/lockstep, else
// ~/.cache/lockstep.
fs::path cache_folder();

// Where the data that comes with the program is: $LOCKSTEP_SHARE, else beside the program as
// installed, else as built.
fs::path shipped_folder();

// A folder that vanishes with this object; made inside `parent`.
class ScratchFolder {
 public:
  explicit ScratchFolder(const fs::path& parent);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace lockstep
