#pragma once

#include "os/files.h"

namespace lockstep {

// Exclusive right of this process to write the folder. The kernel releases it when the process
// ends, even by a crash.
class FolderLock {
 public:
  // Throws a UserError that names the process holding the lock.
  explicit FolderLock(const fs::path& folder);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;

  static bool is_held(const fs::path& folder);
  static constexpr const char* file_name = ".lock";

 private:
  int fd_;
};

}  // namespace lockstep
