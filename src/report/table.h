#pragma once

#include <string>
#include <vector>

namespace lockstep {

// A table of results, and the formats that papers need. Columns of numbers are right-aligned.
struct Table {
  std::string caption;
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
  std::string note;  // below the table
};

bool goes_right(const Table& table, size_t column);  // all its cells are numbers or empty

std::string to_markdown(const Table& table);
std::string to_csv(const Table& table);
std::string to_latex(const Table& table);  // needs the package booktabs

}  // namespace lockstep
