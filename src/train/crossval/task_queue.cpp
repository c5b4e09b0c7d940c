#include "train/crossval/task_queue.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/error.h"

namespace lockstep {
namespace {

// An open file, locked for the lifetime of this object.
class Locked {
 public:
  Locked(const fs::path& path, double patience) : fd_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    if (fd_ < 0)
      throw Failure("cannot open {}: {}; ranks on several hosts need a folder that all of them see",
                    path.string(), std::strerror(errno));
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(patience);
    while (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (std::chrono::steady_clock::now() > deadline) {
        ::close(fd_);
        throw Failure("{} stayed locked for {:.0f} s", path.string(), patience);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  ~Locked() { ::close(fd_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

void TaskQueue::reset(const fs::path& file) {
  const int64_t first = 0;
  write_file(file, {reinterpret_cast<const uint8_t*>(&first), sizeof(first)});
}

TaskQueue::TaskQueue(const fs::path& file, int64_t count, double patience)
    : file_(file), count_(count), patience_(patience) {}

std::optional<int64_t> TaskQueue::next() {
  const Locked file(file_, patience_);
  int64_t number = 0;
  if (::pread(file.fd(), &number, sizeof(number), 0) != sizeof(number))
    throw Failure("cannot read {}: it is incomplete", file_.string());
  if (number >= count_) return std::nullopt;
  const int64_t after = number + 1;
  if (::pwrite(file.fd(), &after, sizeof(after), 0) != sizeof(after))
    throw Failure("cannot write {}: {}", file_.string(), std::strerror(errno));
  return number;
}

}  // namespace lockstep
