#pragma once

#include <string>
#include <vector>

#include "tensor/specs.h"

namespace lockstep {

// The words of one layer line, taken from the left; errors quote the whole line.
class LayerLine {
 public:
  explicit LayerLine(const std::string& line);

  const std::string& text() const { return line_; }
  bool empty() const { return at_ == words_.size(); }
  const std::string& peek() const;
  std::string take(const char* what);
  bool take_if(const std::string& word);
  int64_t take_count(const char* what);  // a whole number of at least 1
  double take_number(const char* what);
  void take_extent(const char* what, int64_t& height, int64_t& width,
                   int64_t least);  // "3" or "3x5"
  // "stride 2", "pad 1", "pad same" in any order
  void take_window_options(Window& window, bool stride_is_kernel);
  void expect_end() const;

 private:
  std::string line_;
  std::vector<std::string> words_;
  size_t at_ = 0;
};

std::string window_text(const Window& window, bool stride_is_kernel);

}  // namespace lockstep
