#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/shape.h"

namespace lockstep {

std::string short_time(double seconds);  // 0:07, 12:30, 1:02:03; 0.031 s when short
std::string percent(double share);       // 98.76%
std::string short_count(double number);  // 23.8 M

// "28x28x1" or "784", as --input takes it.
Shape parse_shape(const std::string& text);

// Columns aligned by their widest cell; the first row is the head. Numbers go right.
std::string table(const std::vector<std::vector<std::string>>& rows);

}  // namespace lockstep
