#include "job/job_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/error.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// In memory if the system has /dev/shm.
fs::path parent_folder() {
  return ::access("/dev/shm", W_OK) == 0 ? fs::path("/dev/shm") : fs::temp_directory_path();
}

std::string prefix() { return fmt::format("lockstep-ranks-{}-", ::getuid()); }

int open_folder(const fs::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// Whether `path` is still the folder that was opened.
bool is_at(int folder, const fs::path& path) {
  struct stat opened {
  }, there{};
  return ::fstat(folder, &opened) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         opened.st_ino == there.st_ino && opened.st_dev == there.st_dev;
}

void remove_abandoned() {
  std::error_code ignored;  // another job may remove it at the same time
  for (const auto& entry : fs::directory_iterator(parent_folder(), ignored)) {
    if (!entry.path().filename().string().starts_with(prefix())) continue;
    const int folder = open_folder(entry.path());
    if (folder < 0) continue;
    struct stat status {};
    if (::fstat(folder, &status) == 0 && status.st_uid == ::getuid() &&
        ::flock(folder, LOCK_EX | LOCK_NB) == 0)
      fs::remove_all(entry.path(), ignored);
    ::close(folder);
  }
}

}  // namespace

JobFolder::JobFolder() {
  remove_abandoned();
  // Another job may find the folder before it is locked and remove it as abandoned: try again.
  do {
    if (lock_ >= 0) ::close(lock_);
    std::string name = (parent_folder() / (prefix() + "XXXXXX")).string();
    if (!::mkdtemp(name.data()))
      throw Failure("cannot make a folder like {} for files that ranks share: {}", name,
                    std::strerror(errno));
    path_ = name;
    lock_ = open_folder(path_);
    if (lock_ >= 0) ::flock(lock_, LOCK_EX);
  } while (!is_at(lock_, path_));
}

JobFolder::~JobFolder() {
  std::error_code ignored;  // ranks that are being killed may still write
  fs::remove_all(path_, ignored);
  ::close(lock_);
}

}  // namespace lockstep
