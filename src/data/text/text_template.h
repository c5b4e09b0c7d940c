#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lockstep {

// A text with names of columns in braces, such as "Problem: {problem}\nSolution: {solution}".
// {{ and }} are literal braces.
class TextTemplate {
 public:
  explicit TextTemplate(const std::string& text);

  std::vector<std::string> columns() const;
  // value(i) gives the value of columns()[i].
  std::string fill(const std::function<const std::string&(size_t column)>& value) const;

 private:
  struct Field {
    std::string text;    // before the column
    std::string column;  // empty: end of the template
  };
  std::vector<Field> fields_;
};

}  // namespace lockstep
