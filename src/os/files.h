#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path);
std::vector<uint8_t> read_bytes(const fs::path& path);

// Reads a file that may be gzip-compressed. Stops with an error past `limit` bytes of content, so
// that a small hostile file cannot fill the memory.
std::vector<uint8_t> read_maybe_gzip(const fs::path& path, uint64_t limit);

// New content of a file, written to a temporary file beside it. commit() syncs it, renames it and
// syncs the folder: the path holds either the old content or all of the new. Without commit() the
// temporary file is removed. Symbolic links are replaced, never followed.
class StagedFile {
 public:
  StagedFile(const fs::path& path, std::span<const uint8_t> content);
  StagedFile(const fs::path& path, std::string_view content);
  ~StagedFile();
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;
  void start_writing() const;  // starts writing to the disk without waiting
  void commit();

 private:
  friend class FileGroup;
  void put_in_place();  // commit() without syncing the folder

  fs::path path_, aside_;
  int fd_;
};

void write_file(const fs::path& path, std::span<const uint8_t> content);
void write_file(const fs::path& path, std::string_view content);

// Files that are synced together: all writes start at the same time, which makes the syncs faster,
// and each folder is synced once.
class FileGroup {
 public:
  ~FileGroup();  // commits, ignoring errors
  void add(StagedFile file);
  void commit();  // in order of add(); files after the first that fails are dropped

 private:
  std::vector<StagedFile> files_;
};

void make_folder(const fs::path& path);
std::string sha256(const fs::path& path);  // in hexadecimal

// A file that grows line by line. Lines reach the kernel when append() finds the last flush more
// than 50 ms ago, when flush() is called, and at the end. A link to another file is replaced, or
// refused if `append` is set; a link to a device or pipe is followed.
class LineFile {
 public:
  explicit LineFile(const fs::path& path, bool append = false);
  void append(std::string_view line);
  void flush();

 private:
  std::chrono::steady_clock::time_point flushed_{};
  fs::path path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace lockstep
