#pragma once

#include <string_view>

namespace lockstep {

// How GPT-2 cuts text before it merges bytes: contractions, words and numbers with the space before
// them, runs of other characters, runs of spaces. By hand, since the pattern it stands for,
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// needs look-ahead and Unicode, for which there is nothing in the standard library.
// Takes the next pretoken off the front of `rest`, which must not be empty.
std::string_view take_pretoken(std::string_view& rest);

}  // namespace lockstep
