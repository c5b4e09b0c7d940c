#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "os/files.h"

struct gzFile_s;

namespace lockstep {

// An IDX file of bytes (the format of MNIST), plain or gzip-compressed. The header is checked
// against the size of the file, so that bytes() may be allocated.
class IdxFile {
 public:
  // `rank` is 3 for images (count, height, width), 1 for labels (count).
  IdxFile(const fs::path& path, int rank);

  const fs::path& path() const { return path_; }
  int64_t count() const { return extents_[0]; }
  int64_t extent(int axis) const { return extents_[static_cast<size_t>(axis)]; }
  uint64_t bytes() const { return bytes_; }  // of content, after the header

  // Offset of the content in the file. Throws a UserError if the file is compressed.
  uint64_t plain_content() const;

  // Reads the content into `out`, which has bytes() elements.
  void read_into(std::span<uint8_t> out);

 private:
  uint64_t read_some(std::span<uint8_t> out);

  fs::path path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile_s*)> file_;
  std::vector<int64_t> extents_;
  uint64_t bytes_ = 0;
  uint64_t header_bytes_ = 0;
};

}  // namespace lockstep
