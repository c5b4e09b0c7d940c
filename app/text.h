#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/shape.h"

namespace lockstep {

std::string short_time(double seconds);  // 0.031 s, 12:30, 1:02:03
std::string percent(double share);       // 98.76%
std::string short_count(double number);  // 23.8 M

// Parses the value of --input: "28x28x1" or "784".
Shape parse_shape(const std::string& text);

// A table with aligned columns; numbers are right-aligned. The first row is the header.
std::string table(const std::vector<std::vector<std::string>>& rows);

}  // namespace lockstep
