#include "data/formats/verified_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "os/digests.h"

namespace lockstep {
namespace {

// Changes when a file is written or replaced.
struct FileState {
  uint64_t size = 0, inode = 0;
  int64_t seconds = 0, nanoseconds = 0;  // time of the last modification

  bool operator==(const FileState&) const = default;
};

struct Record {
  uint64_t digest = 0;
  FileState state;
};

constexpr const char* form =
    "xxh3 %" SCNx64 " size %" SCNu64 " inode %" SCNu64 " time %" SCNd64 ".%" SCNd64;

fs::path record_path(const fs::path& path) { return path.string() + ".xxh3"; }

FileState state_of(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    throw Failure("cannot read {}: {}", path.string(), std::strerror(errno));
  return {.size = static_cast<uint64_t>(info.st_size),
          .inode = info.st_ino,
          .seconds = info.st_mtim.tv_sec,
          .nanoseconds = info.st_mtim.tv_nsec};
}

std::optional<Record> recorded(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(record_path(path), error)) return std::nullopt;
  const std::string text = read_text(record_path(path));
  Record r;
  if (std::sscanf(text.c_str(), form, &r.digest, &r.state.size, &r.state.inode, &r.state.seconds,
                  &r.state.nanoseconds) != 5)
    return std::nullopt;
  return r;
}

void write_record(const fs::path& path, const Record& r) {
  try {
    write_file(record_path(path),
               fmt::format("xxh3 {:016x} size {} inode {} time {}.{}\n", r.digest, r.state.size,
                           r.state.inode, r.state.seconds, r.state.nanoseconds));
  } catch (const Failure&) {  // read-only cache: the file is read again next time
  }
}

}  // namespace

Verified verify(const fs::path& path) {
  const std::optional<Record> known = recorded(path);
  if (!known) return Verified::unknown;
  const FileState now = state_of(path);
  if (known->state == now) return Verified::intact;
  if (now.size != known->state.size || digest_of_file(path) != known->digest)
    return Verified::damaged;
  write_record(path, {known->digest, now});
  return Verified::intact;
}

// The state is read first, so that a change during the computation of the digest is noticed next
// time.
void record_digest(const fs::path& path) {
  const FileState state = state_of(path);
  write_record(path, {digest_of_file(path), state});
}

void install_verified(const fs::path& file, const fs::path& folder) {
  const fs::path to = folder / file.filename();
  std::error_code error;
  fs::rename(file, to, error);
  if (error) throw Failure("cannot write {}: {}", to.string(), error.message());
  record_digest(to);
}

}  // namespace lockstep
