#pragma once

#include <filesystem>

namespace lockstep {

// A folder for files that ranks of one job share on this machine: shared memory, and MPI's files.
// It is removed with the job. If this process is killed, the next job of the same user removes it.
class JobFolder {
 public:
  JobFolder();
  ~JobFolder();
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;  // the folder, locked while its owner lives
};

}  // namespace lockstep
