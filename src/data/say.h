#pragma once

#include <cstdio>
#include <functional>
#include <string>

namespace lockstep {

// Receives messages about slow operations; never results.
using Say = std::function<void(const std::string&)>;

inline void say_to_stderr(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

}  // namespace lockstep
