#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/files.h"

namespace lockstep {

using NamedScalar = std::pair<std::string_view, double>;

// TensorBoard's event file: records of length, checksum, a protocol buffer and its checksum. The
// format is small and fixed, so it is written here rather than through TensorFlow.
class EventFile {
 public:
  explicit EventFile(const fs::path& folder);
  void add(int64_t step, std::span<const NamedScalar> scalars);
  void flush();

  static bool is_event_file(const fs::path& path);

 private:
  void write();  // event_

  fs::path path_;
  std::string event_, summary_, record_;  // members to reuse their memory
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

uint32_t crc32c(std::string_view bytes);

}  // namespace lockstep
