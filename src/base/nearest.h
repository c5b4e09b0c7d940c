#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// The candidate with the smallest edit distance, or "" when none is close.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// "did you mean 'x'?" when something is close, else "expected one of a, b, c".
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

std::string join(const std::vector<std::string>& words, std::string_view separator);

}  // namespace lockstep
