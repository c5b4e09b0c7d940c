#pragma once

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

// Writes aside, syncs, renames: the path holds either what it held before or all of the new
// content.
void write_file(const fs::path& path, std::span<const uint8_t> content);
void write_file(const fs::path& path, std::string_view content);

void make_folder(const fs::path& path);
std::string sha256(const fs::path& path);  // in hexadecimal

// A file that grows line by line; each line reaches the kernel before append returns.
class LineFile {
 public:
  explicit LineFile(const fs::path& path);
  void append(std::string_view line);

 private:
  fs::path path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace lockstep
