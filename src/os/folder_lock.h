#pragma once

#include "os/files.h"

namespace lockstep {

// While it lives, this process alone writes the folder. The kernel ends it with the process,
// however that ends.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder);  // a UserError names the process that has it
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;

  static bool is_held(const fs::path& folder);
  static constexpr const char* file_name = ".lock";

 private:
  int fd_;
};

}  // namespace lockstep
