#include "text/unicode.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace lockstep {
namespace {

struct CodeRange {
  uint32_t first, last;
};

#include "text/unicode_tables.inc"

template <size_t Count>
bool within(const CodeRange (&ranges)[Count], uint32_t point) {
  const CodeRange* after =
      std::upper_bound(std::begin(ranges), std::end(ranges), point,
                       [](uint32_t value, const CodeRange& range) { return value < range.first; });
  return after != std::begin(ranges) && point <= std::prev(after)->last;
}

// Unicode's White_Space.
bool is_space(uint32_t c) {
  return (c >= 0x9 && c <= 0xd) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

CharacterKind kind_of(uint32_t point) {
  if (within(letters, point)) return CharacterKind::letter;
  if (within(numbers, point)) return CharacterKind::number;
  return is_space(point) ? CharacterKind::space : CharacterKind::other;
}

// Kinds of code points below this come from a table instead of a search: most text is here.
constexpr uint32_t direct = 0x3000;

const std::array<CharacterKind, direct>& direct_kinds() {
  static const std::array<CharacterKind, direct> kinds = [] {
    std::array<CharacterKind, direct> all;
    for (uint32_t point = 0; point < direct; ++point) all[point] = kind_of(point);
    return all;
  }();
  return kinds;
}

}  // namespace

CodePoint code_point_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint32_t first = byte(at);
  if (first < 0x80) return {first, 1};
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + length > text.size()) return {};
  uint32_t point = first & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return {};
    point = point << 6 | (byte(at + i) & 0x3fu);
  }
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < least[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return {};
  return {point, length};
}

Character character_at(std::string_view text, size_t at) {
  const CodePoint point = code_point_at(text, at);
  if (point.bytes == 0) return {};
  if (point.value < direct) return {direct_kinds()[point.value], point.bytes};
  return {kind_of(point.value), point.bytes};
}

void append_utf8(std::string& text, uint32_t point) {
  const auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (point < 0x80) return add(point);
  if (point < 0x800) {
    add(0xc0 | point >> 6);
  } else {
    if (point < 0x10000) {
      add(0xe0 | point >> 12);
    } else {
      add(0xf0 | point >> 18);
      add(0x80 | (point >> 12 & 0x3f));
    }
    add(0x80 | (point >> 6 & 0x3f));
  }
  add(0x80 | (point & 0x3f));
}

}  // namespace lockstep
