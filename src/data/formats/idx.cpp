#include "data/formats/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace lockstep {
namespace {

// Highest ratio of deflate: the size of a compressed file bounds its content.
constexpr uint64_t highest_compression = 1032;
// Limit for compressed files, against malicious headers. A plain file must itself be as large.
constexpr uint64_t most_unpacked_bytes = uint64_t{4} << 30;

uint32_t big_endian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

gzFile open_file(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    throw UserError("cannot read {}: {}", path.string(),
                    fs::exists(path, error) ? "it is not a file" : "there is no such file");
  // zlib also reads plain files, large reads without a copy.
  gzFile file = gzopen(path.c_str(), "rbe");
  if (!file) throw UserError("cannot read {}: {}", path.string(), std::strerror(errno));
  return file;
}

}  // namespace

IdxFile::IdxFile(const fs::path& path, int rank) : path_(path), file_(open_file(path), gzclose) {
  const std::string name = path.string();
  header_bytes_ = 4 + 4 * static_cast<uint64_t>(rank);
  std::array<uint8_t, 4 + 4 * 3> header{};
  const std::span wanted = std::span(header).first(header_bytes_);
  const uint64_t found = read_some(wanted);
  if (found < header_bytes_)
    throw UserError("{} is truncated: it holds {} bytes, the IDX header alone takes {}", name,
                    found, header_bytes_);
  const uint32_t magic = big_endian(header.data());
  const uint32_t expected_magic = 0x0800u | static_cast<uint32_t>(rank);
  if (magic != expected_magic)
    throw UserError(
        "{} is not an IDX file of {}: it begins with 0x{:08x} at byte 0, expected 0x{:08x}", name,
        rank == 1 ? "labels" : "images", magic, expected_magic);
  bytes_ = 1;
  for (int axis = 0; axis < rank; ++axis) {
    const uint32_t extent = big_endian(header.data() + 4 + 4 * axis);
    if (extent == 0)
      throw UserError("{} is empty: dimension {} of its header (byte {}) is 0", name, axis + 1,
                      4 + 4 * axis);
    if (__builtin_mul_overflow(bytes_, uint64_t{extent}, &bytes_) || bytes_ > INT64_MAX)
      throw UserError(
          "{}: the dimensions in its header multiply to more than 2^63 bytes; the file "
          "is damaged",
          name);
    extents_.push_back(extent);
  }
  const uint64_t stored = fs::file_size(path);
  const bool compressed = gzdirect(file_.get()) == 0;
  if (compressed) {
    if (bytes_ > most_unpacked_bytes || bytes_ / highest_compression > stored)
      throw UserError(
          "{}: its header promises {} bytes of content, more than {} compressed bytes "
          "can hold; the file is damaged",
          name, bytes_, stored);
  } else if (stored != header_bytes_ + bytes_) {
    throw UserError("{} is {}: its header promises {} bytes, the file holds {}", name,
                    stored < header_bytes_ + bytes_ ? "truncated" : "oversized",
                    header_bytes_ + bytes_, stored);
  }
}

uint64_t IdxFile::read_some(std::span<uint8_t> out) {
  uint64_t filled = 0;
  while (filled < out.size()) {
    const auto wanted = static_cast<unsigned>(std::min<uint64_t>(out.size() - filled, 1u << 30));
    const int count = gzread(file_.get(), out.data() + filled, wanted);
    if (count < 0) {
      int code = 0;
      const char* text = gzerror(file_.get(), &code);
      if (code == Z_BUF_ERROR) break;  // the compressed data end early
      throw UserError(
          "{}: the gzip data are damaged near content byte {} ({}); fetch the file again",
          path_.string(), filled, text);
    }
    if (count == 0) break;
    filled += static_cast<uint64_t>(count);
  }
  return filled;
}

uint64_t IdxFile::plain_content() const {
  if (gzdirect(file_.get()) == 0)
    throw UserError(
        "{} is compressed, so a part of it cannot be read separately; unpack it with gunzip, or "
        "use data.reading = \"all\"",
        path_.string());
  return header_bytes_;
}

void IdxFile::read_into(std::span<uint8_t> out) {
  ENSURE(out.size() == bytes_);
  const uint64_t filled = read_some(out);
  if (filled < bytes_)
    throw UserError("{} is truncated: its header promises {} bytes, the file holds {}",
                    path_.string(), header_bytes_ + bytes_, header_bytes_ + filled);
  std::array<uint8_t, 1> more;  // reading beyond the content also makes zlib verify its checksum
  if (read_some(more) != 0)
    throw UserError("{} is oversized: its header promises {} bytes, the file holds more",
                    path_.string(), header_bytes_ + bytes_);
}

}  // namespace lockstep
