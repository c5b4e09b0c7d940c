#pragma once

#include <zlib.h>

#include <span>
#include <vector>

namespace lockstep {

inline std::vector<uint8_t> gzipped(std::span<const uint8_t> content) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
  std::vector<uint8_t> packed(deflateBound(&stream, content.size()) + 32);
  stream.next_in = const_cast<uint8_t*>(content.data());
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace lockstep
