#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

// Character classes of GPT-2's pattern for splitting text: \p{L}, \p{N}, \s, none of them.
enum class CharacterKind : uint8_t { letter, number, space, other };

struct Character {
  CharacterKind kind = CharacterKind::other;
  size_t bytes = 1;
};

// The character that starts at text[at]. A byte that starts no valid UTF-8 sequence counts as one.
Character character_at(std::string_view text, size_t at);

// Appends a code point in UTF-8.
void append_utf8(std::string& text, uint32_t point);

// The code point at text[at] and its length; length 0: not valid UTF-8.
struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 0;
};
CodePoint code_point_at(std::string_view text, size_t at);

}  // namespace lockstep
