#pragma once

#include <string_view>

namespace lockstep {

// Removes the first pretoken of `rest`, which must not be empty, and returns it. GPT-2 splits text
// into pretokens before it merges bytes: contractions, words and numbers with the space before
// them, runs of other characters, runs of spaces. Written by hand, since the original pattern,
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// needs Unicode classes, which the standard library lacks.
std::string_view take_pretoken(std::string_view& rest);

}  // namespace lockstep
