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

// New content of a file, written aside. commit() syncs it, renames it and syncs the folder: the
// path holds either what it held before or all of the new content. Uncommitted, it is removed.
// Symbolic links in its way are replaced, never followed.
class StagedFile {
 public:
  StagedFile(const fs::path& path, std::span<const uint8_t> content);
  StagedFile(const fs::path& path, std::string_view content);
  ~StagedFile();
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;
  void start_writing() const;  // without waiting for the disk
  void commit();

 private:
  friend class FileGroup;
  void put_in_place();  // commit() without syncing the folder

  fs::path path_, aside_;
  int fd_;
};

void write_file(const fs::path& path, std::span<const uint8_t> content);
void write_file(const fs::path& path, std::string_view content);

// Files that go to the disk together: their writes start at once, so that the syncs share its time,
// and each folder is synced once.
class FileGroup {
 public:
  ~FileGroup();  // commits, and keeps to itself what fails
  void add(StagedFile file);
  void commit();  // in this order; what comes after one that fails is dropped

 private:
  std::vector<StagedFile> files_;
};

void make_folder(const fs::path& path);
std::string sha256(const fs::path& path);  // in hexadecimal

// A file that grows line by line and is never more than a moment behind: lines reach the kernel
// when the last flush is 50 ms past, when flush() is called, and at the end. A link to another file
// is replaced, or refused where lines are to be appended; a link to a device or pipe is followed.
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
