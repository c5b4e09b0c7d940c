#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lockstep {

// "Problem: {problem}\nSolution: {solution}": a text with the names of columns in it. {{ and }}
// stand for the brackets themselves.
class TextTemplate {
 public:
  explicit TextTemplate(const std::string& text);

  std::vector<std::string> columns() const;
  // value(i) gives the value of columns()[i].
  std::string fill(const std::function<const std::string&(size_t column)>& value) const;

 private:
  struct Field {
    std::string text;    // before the column
    std::string column;  // empty: none, the end
  };
  std::vector<Field> fields_;
};

}  // namespace lockstep
