#pragma once

#include <array>
#include <functional>
#include <span>

#include "os/files.h"

namespace lockstep {

// A memory-mapped file of token ids: train, validation and test in sequence. 2 bytes per token if
// the vocabulary allows, else 4.
class TokenFile {
 public:
  // Tokens of train, validation and test.
  using Parts = std::array<std::vector<int32_t>, 3>;
  static void write(const fs::path& path, const Parts& parts, int32_t vocabulary);

  // Throws a Failure if the file is damaged or a token is beyond its vocabulary.
  explicit TokenFile(const fs::path& path);
  ~TokenFile();
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  int32_t vocabulary() const { return static_cast<int32_t>(head().vocabulary); }
  int64_t size(size_t part) const { return static_cast<int64_t>(head().counts[part]); }
  int64_t begin(size_t part) const;
  int32_t operator[](int64_t index) const;

 private:
  struct Head {
    char magic[8];
    uint32_t bytes, vocabulary;
    std::array<uint64_t, 3> counts;
  };
  std::string damage() const;  // "": none
  const Head& head() const { return *static_cast<const Head*>(mapped_); }

  void* mapped_ = nullptr;
  size_t length_ = 0;
};

}  // namespace lockstep
