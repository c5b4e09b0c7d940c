#pragma once

#include "os/files.h"

namespace lockstep {

// The folder of fetched data sets: $LOCKSTEP_DATA, else $XDG_CACHE_HOME/lockstep, else
// ~/.cache/lockstep.
fs::path cache_folder();

// The folder of the data shipped with the program: $LOCKSTEP_SHARE, else relative to the program as
// installed or as built, else below the install prefix.
fs::path shipped_folder();

// A temporary folder inside `parent`, removed with this object.
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
