#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

// How tiles, tables, figures and LaTeX write numbers: one format everywhere.
std::string number_text(double value);   // of a measurement: four digits, "9.300", "142.0", "13749"
std::string percent_text(double share);  // "98.95%" of 0.9895
std::string count_text(double value);    // of a setting or a count: "5", "0.4", "0.001"
std::string plural(int64_t count, const std::string& word);  // "1 run", "2 runs", "3 studies"

}  // namespace lockstep
