#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

// Formats of numbers, the same in tiles, tables and LaTeX.
std::string number_text(double value);   // measurement: four digits, "9.300", "142.0", "13749"
std::string percent_text(double share);  // "98.95%" for 0.9895
std::string count_text(double value);    // setting or count: "5", "0.4", "0.001"
std::string plural(int64_t count, const std::string& word);  // "1 run", "2 runs", "3 studies"

}  // namespace lockstep
