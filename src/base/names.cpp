#include "base/names.h"

#include <algorithm>

#include "base/error.h"

namespace lockstep {
namespace {

constexpr size_t longest_name = 200;  // file systems allow 255 bytes, and some names get suffixes

// Bytes of the UTF-8 character at `at`; 0 if it is invalid: truncated, overlong, half of a
// surrogate pair, or beyond U+10FFFF.
size_t character_size(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xc2 && first < 0xe0   ? 2
                      : first >= 0xe0 && first < 0xf0 ? 3
                      : first >= 0xf0 && first < 0xf5 ? 4
                                                      : 0;
  for (size_t i = 1; i < size; ++i)
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  const unsigned second = byte(at + 1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90))
    return 0;
  return size;
}

bool is_control(const std::string& text, size_t at, size_t size) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (size == 1) return first < 0x20 || first == 0x7f;
  return size == 2 && first == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0;  // C1
}

}  // namespace

std::string printable(const std::string& text) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    const size_t size = character_size(text, at);
    if (size > 0 && !is_control(text, at, size)) {
      shown.append(text, at, size);
      at += size;
      continue;
    }
    for (const size_t end = at + std::max<size_t>(1, size); at < end; ++at)
      shown +=
          fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(text[at])));
  }
  return shown;
}

void expect_name(const std::string& name, const std::string& where) {
  const std::string shown = printable(name);
  const char* wrong = name.empty()                          ? "is empty"
                      : name[0] == '.'                      ? "starts with a dot"
                      : name.find('/') != std::string::npos ? "contains a '/'"
                      : shown != name              ? "contains control characters or is not UTF-8"
                      : name.size() > longest_name ? "is too long"
                                                   : nullptr;
  if (wrong)
    throw UserError(
        "{}: the name '{}' {}; a name becomes a folder: letters, digits, spaces and signs other "
        "than '/' are allowed, up to {} bytes, without a leading dot",
        where, shown.size() > longest_name + 100 ? shown.substr(0, longest_name) + "..." : shown,
        wrong, longest_name);
}

}  // namespace lockstep
