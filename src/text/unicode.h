#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

// What GPT-2's pattern for splitting text asks of a character: \p{L}, \p{N}, \s or none of them.
enum class CharacterKind : uint8_t { letter, number, space, other };

struct Character {
  CharacterKind kind = CharacterKind::other;
  size_t bytes = 1;
};

// The character that starts at text[at]. A byte that starts no valid UTF-8 is one by itself.
Character character_at(std::string_view text, size_t at);

// The bytes of a code point in UTF-8.
void append_utf8(std::string& text, uint32_t point);

// The code point at text[at] and its length, or length 0 where the bytes are not valid UTF-8.
struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 0;
};
CodePoint code_point_at(std::string_view text, size_t at);

}  // namespace lockstep
