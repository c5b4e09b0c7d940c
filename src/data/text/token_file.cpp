#include "data/text/token_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace lockstep {
namespace {

// No branch in the loop, so that it runs at memory speed.
template <typename Token>
uint32_t highest_of(const uint8_t* bytes, uint64_t count) {
  const auto* tokens = reinterpret_cast<const Token*>(bytes);
  Token highest = 0;
  for (uint64_t i = 0; i < count; ++i) highest = std::max(highest, tokens[i]);
  return highest;
}

constexpr char magic[8] = {'L', 'S', 'T', 'O', 'K', 'E', 'N', '1'};

}  // namespace

void TokenFile::write(const fs::path& path, const Parts& parts, int32_t vocabulary) {
  Head head{.bytes = vocabulary <= 1 << 16 ? 2u : 4u,
            .vocabulary = static_cast<uint32_t>(vocabulary),
            .counts = {}};
  std::memcpy(head.magic, magic, sizeof(magic));
  size_t total = 0;
  for (size_t i = 0; i < parts.size(); ++i) total += head.counts[i] = parts[i].size();
  std::vector<uint8_t> content(sizeof(head) + total * head.bytes);
  std::memcpy(content.data(), &head, sizeof(head));
  uint8_t* to = content.data() + sizeof(head);
  for (const std::vector<int32_t>& part : parts)
    for (const int32_t token : part) {
      std::memcpy(to, &token, head.bytes);  // little-endian: the low bytes come first
      to += head.bytes;
    }
  write_file(path, content);
}

TokenFile::TokenFile(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw Failure("cannot read {}", path.string());
  std::error_code error;
  length_ = fs::file_size(path, error);
  if (!error && length_ >= sizeof(Head))
    mapped_ = mmap(nullptr, length_, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (!mapped_ || mapped_ == MAP_FAILED) {
    mapped_ = nullptr;
    throw Failure("{} is not a token file", path.string());
  }
  if (const std::string found = damage(); !found.empty()) {
    munmap(mapped_, length_);
    throw Failure("{} is not a valid token file: {}", path.string(), found);
  }
}

std::string TokenFile::damage() const {
  const Head& h = head();
  if (std::memcmp(h.magic, magic, sizeof(magic)) != 0 || (h.bytes != 2 && h.bytes != 4) ||
      h.vocabulary < 1 || h.vocabulary > INT32_MAX)
    return "its header is wrong";
  uint64_t total = 0;
  for (const uint64_t count : h.counts) {
    if (count > length_) return "its header promises more tokens than the file has bytes";
    total += count;
  }
  if (length_ != sizeof(Head) + total * h.bytes)
    return fmt::format("it has {} bytes; its header promises {} tokens", length_, total);
  const auto* tokens = static_cast<const uint8_t*>(mapped_) + sizeof(Head);
  const uint32_t highest =
      h.bytes == 2 ? highest_of<uint16_t>(tokens, total) : highest_of<uint32_t>(tokens, total);
  if (total > 0 && highest >= h.vocabulary)
    return fmt::format("token {} is beyond its vocabulary of {}", highest, h.vocabulary);
  return "";
}

TokenFile::~TokenFile() { munmap(mapped_, length_); }

int64_t TokenFile::begin(size_t part) const {
  int64_t at = 0;
  for (size_t i = 0; i < part; ++i) at += size(i);
  return at;
}

int32_t TokenFile::operator[](int64_t index) const {
  const auto* tokens = static_cast<const uint8_t*>(mapped_) + sizeof(Head);
  if (head().bytes == 2) return reinterpret_cast<const uint16_t*>(tokens)[index];
  return reinterpret_cast<const int32_t*>(tokens)[index];
}

}  // namespace lockstep
