#pragma once

#include <string>
#include <vector>

namespace lockstep {

// A table of results, and the forms that papers want it in. Columns of numbers go right.
struct Table {
  std::string caption;
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
  std::string note;  // below it
};

bool goes_right(const Table& table, size_t column);  // all its cells are numbers, or empty

std::string to_markdown(const Table& table);
std::string to_csv(const Table& table);
std::string to_latex(const Table& table);  // for the package booktabs

}  // namespace lockstep
