#include "npy.h"

#include <fmt/format.h>

#include <cstring>

namespace lockstep {

void write_npy(const fs::path& path, std::span<const float> values, int64_t columns) {
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}",
                  static_cast<int64_t>(values.size()) / columns, columns);
  constexpr size_t fixed = 10;  // magic, version, length of the header
  header.append((64 - (fixed + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string content = "\x93NUMPY";
  content += '\x01';
  content += '\x00';
  content += static_cast<char>(header.size() & 0xff);
  content += static_cast<char>(header.size() >> 8);
  content += header;
  content.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  write_file(path, content);
}

}  // namespace lockstep
