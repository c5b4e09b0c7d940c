#include "os/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace lockstep {

FolderLock::FolderLock(const fs::path& folder) {
  const fs::path path = folder / file_name;
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd_ < 0) throw Failure("cannot write {}: {}", path.string(), std::strerror(errno));
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    char owner[64] = {};
    const ssize_t length = ::pread(fd_, owner, sizeof(owner) - 1, 0);
    ::close(fd_);
    if (reason != EWOULDBLOCK)
      throw Failure("cannot lock {}: {}", path.string(), std::strerror(reason));
    throw UserError(
        "{} is being written by another run (process {}); wait for it to end, or choose another "
        "folder with --out",
        folder.string(), length > 0 ? owner : "unknown");
  }
  const std::string own = std::to_string(::getpid());
  if (::ftruncate(fd_, 0) != 0 ||
      ::pwrite(fd_, own.data(), own.size(), 0) != static_cast<ssize_t>(own.size())) {
    const int reason = errno;
    ::close(fd_);
    throw Failure("cannot write {}: {}", path.string(), std::strerror(reason));
  }
}

FolderLock::FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

bool FolderLock::is_held(const fs::path& folder) {
  const int fd = ::open((folder / file_name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  const bool held = ::flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(fd);
  return held;
}

}  // namespace lockstep
