#include "os/files.h"

#include <fcntl.h>
#include <sha2.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "base/error.h"

namespace lockstep {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string reason() { return std::strerror(errno); }

Descriptor open_for_reading(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw UserError("cannot read {}: {}", path.string(), reason());
  struct stat info {};
  if (::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    ::close(fd);
    throw UserError("cannot read {}: it is a folder, a file was expected", path.string());
  }
  return Descriptor(fd);
}

void write_all(int fd, std::span<const uint8_t> content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw Failure("cannot write {}: {}", path.string(), reason());
    content = content.subspan(static_cast<size_t>(written));
  }
}

// O_EXCL, because the path may hold a leftover of a killed program, or a link that another user
// placed there.
int create_anew(const fs::path& path) {
  ::unlink(path.c_str());
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
}

// Makes renames within the folder survive a power failure.
void sync_folder(const fs::path& folder) {
  const fs::path path = folder.empty() ? "." : folder;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const bool synced = file.get() >= 0 && ::fsync(file.get()) == 0;
  if (!synced && errno != EINVAL)  // EINVAL: the file system does not sync folders
    throw Failure("cannot write the folder {} to the disk: {}", path.string(), reason());
}

std::FILE* open_lines(const fs::path& path, bool append) {
  std::error_code error;
  const bool leads_to_a_file =
      fs::is_symlink(path, error) && (fs::is_regular_file(path, error) || !fs::exists(path, error));
  if (leads_to_a_file) {
    if (append)
      throw Failure("cannot append to {}: it is a symbolic link; remove it", path.string());
    ::unlink(path.c_str());
  }
  return std::fopen(path.c_str(), append ? "ae" : "we");
}

std::span<const uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

std::vector<uint8_t> read_bytes(const fs::path& path) {
  const Descriptor file = open_for_reading(path);
  struct stat info {};
  ::fstat(file.get(), &info);
  std::vector<uint8_t> content(static_cast<size_t>(info.st_size));
  size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t count = ::read(file.get(), content.data() + filled, content.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw Failure("cannot read {}: {}", path.string(), reason());
    if (count == 0) break;
    filled += static_cast<size_t>(count);
  }
  content.resize(filled);
  return content;
}

std::string read_text(const fs::path& path) {
  const std::vector<uint8_t> bytes = read_bytes(path);
  return {bytes.begin(), bytes.end()};
}

std::vector<uint8_t> read_maybe_gzip(const fs::path& path, uint64_t limit) {
  std::vector<uint8_t> raw = read_bytes(path);
  const bool compressed = raw.size() >= 2 && raw[0] == 0x1f && raw[1] == 0x8b;
  if (!compressed) {
    if (raw.size() > limit)
      throw UserError("{} holds {} bytes; at most {} were expected", path.string(), raw.size(),
                      limit);
    return raw;
  }
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) throw Failure("cannot start zlib");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ended(&stream, inflateEnd);
  stream.next_in = raw.data();
  std::vector<uint8_t> content;
  content.reserve(std::min<uint64_t>(limit, uint64_t{raw.size()} * 6));
  std::vector<uint8_t> chunk(1 << 18);
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    // zlib counts in 32 bits: files of more than 4 GB are handed over in parts.
    const auto left = static_cast<uint64_t>(raw.data() + raw.size() - stream.next_in);
    stream.avail_in = static_cast<uInt>(std::min<uint64_t>(left, 1 << 30));
    stream.next_out = chunk.data();
    stream.avail_out = static_cast<uInt>(chunk.size());
    state = inflate(&stream, Z_NO_FLUSH);
    if (state != Z_OK && state != Z_STREAM_END)
      throw UserError("{}: the gzip data is {} near compressed byte {}; fetch the file again",
                      path.string(), state == Z_BUF_ERROR ? "truncated" : "damaged",
                      stream.total_in);
    content.insert(content.end(), chunk.begin(), chunk.end() - stream.avail_out);
    if (content.size() > limit)
      throw UserError(
          "{} unpacks to more than {} bytes, the most that was expected; is it the right file?",
          path.string(), limit);
  }
  return content;
}

StagedFile::StagedFile(const fs::path& path, std::span<const uint8_t> content)
    : path_(path), aside_(path.string() + ".new"), fd_(create_anew(aside_)) {
  if (fd_ < 0) throw Failure("cannot write {}: {}", path_.string(), reason());
  try {
    write_all(fd_, content, path_);
  } catch (...) {
    ::close(fd_);
    ::unlink(aside_.c_str());
    throw;
  }
}

StagedFile::StagedFile(const fs::path& path, std::string_view content)
    : StagedFile(path, as_bytes(content)) {}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : path_(std::move(other.path_)),
      aside_(std::move(other.aside_)),
      fd_(std::exchange(other.fd_, -1)) {}

StagedFile::~StagedFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(aside_.c_str());
}

void StagedFile::start_writing() const { ::sync_file_range(fd_, 0, 0, SYNC_FILE_RANGE_WRITE); }

void StagedFile::commit() {
  put_in_place();
  sync_folder(path_.parent_path());
}

void StagedFile::put_in_place() {
  if (::fsync(fd_) != 0 || ::rename(aside_.c_str(), path_.c_str()) != 0)
    throw Failure("cannot write {}: {}", path_.string(), reason());
  ::close(std::exchange(fd_, -1));
}

void write_file(const fs::path& path, std::span<const uint8_t> content) {
  StagedFile(path, content).commit();
}

void write_file(const fs::path& path, std::string_view content) {
  write_file(path, as_bytes(content));
}

void FileGroup::add(StagedFile file) { files_.push_back(std::move(file)); }

void FileGroup::commit() {
  std::vector<StagedFile> files = std::exchange(files_, {});
  for (const StagedFile& file : files) file.start_writing();
  std::set<fs::path> folders;
  for (StagedFile& file : files) {
    file.put_in_place();
    folders.insert(file.path_.parent_path());
  }
  for (const fs::path& folder : folders) sync_folder(folder);
}

FileGroup::~FileGroup() {
  try {
    commit();
  } catch (const std::exception&) {  // callers that need the error call commit()
  }
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw Failure("cannot make the folder {}: {}", path.string(), error.message());
}

std::string sha256(const fs::path& path) {
  const Descriptor file = open_for_reading(path);
  SHA2_CTX context;
  SHA256Init(&context);
  std::vector<uint8_t> chunk(1 << 18);
  for (;;) {
    const ssize_t count = ::read(file.get(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw Failure("cannot read {}: {}", path.string(), reason());
    if (count == 0) break;
    SHA256Update(&context, chunk.data(), static_cast<size_t>(count));
  }
  std::array<char, SHA256_DIGEST_STRING_LENGTH> text;
  return SHA256End(&context, text.data());
}

LineFile::LineFile(const fs::path& path, bool append)
    : path_(path), file_(open_lines(path, append), std::fclose) {
  if (!file_) throw Failure("cannot write {}: {}", path.string(), reason());
}

void LineFile::append(std::string_view line) {
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size() ||
      std::fputc('\n', file_.get()) == EOF)
    throw Failure("cannot write {}: {}", path_.string(), reason());
  const auto now = std::chrono::steady_clock::now();
  if (now - flushed_ < std::chrono::milliseconds(50)) return;
  flush();
  flushed_ = now;
}

void LineFile::flush() {
  if (std::fflush(file_.get()) != 0) throw Failure("cannot write {}: {}", path_.string(), reason());
}

}  // namespace lockstep
