#include "nn/layers/layer_line.h"

#include <charconv>
#include <sstream>

#include "base/error.h"

namespace lockstep {
namespace {

template <typename Number>
bool parse_all(const std::string& word, Number& value) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

}  // namespace

LayerLine::LayerLine(const std::string& line) : line_(line) {
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words_.push_back(word);
}

const std::string& LayerLine::peek() const {
  static const std::string nothing;
  return empty() ? nothing : words_[at_];
}

std::string LayerLine::take(const char* what) {
  if (empty()) throw UserError("layer \"{}\": {} is missing", line_, what);
  return words_[at_++];
}

bool LayerLine::take_if(const std::string& word) {
  if (peek() != word || empty()) return false;
  ++at_;
  return true;
}

int64_t LayerLine::take_count(const char* what) {
  const std::string word = take(what);
  int64_t value = 0;
  if (!parse_all(word, value) || value < 1 || value > 1'000'000'000)
    throw UserError("layer \"{}\": {} is '{}', a whole number of at least 1 was expected", line_,
                    what, word);
  return value;
}

double LayerLine::take_number(const char* what) {
  const std::string word = take(what);
  double value = 0;
  if (!parse_all(word, value))
    throw UserError("layer \"{}\": {} is '{}', a number was expected", line_, what, word);
  return value;
}

void LayerLine::take_extent(const char* what, int64_t& height, int64_t& width, int64_t least) {
  const std::string word = take(what);
  const size_t cross = word.find('x');
  const std::string first = word.substr(0, cross);
  const std::string second = cross == std::string::npos ? first : word.substr(cross + 1);
  const bool parsed = parse_all(first, height) && parse_all(second, width);
  if (!parsed || height < least || width < least || height > 10000 || width > 10000)
    throw UserError("layer \"{}\": {} is '{}', something like 3 or 3x5 was expected", line_, what,
                    word);
}

void LayerLine::take_window_options(Window& window, bool stride_is_kernel) {
  if (stride_is_kernel) {
    window.stride_y = window.height;
    window.stride_x = window.width;
  }
  for (;;) {
    if (take_if("stride")) {
      take_extent("the stride", window.stride_y, window.stride_x, 1);
    } else if (take_if("pad")) {
      if (take_if("same")) {
        if (window.height % 2 == 0 || window.width % 2 == 0)
          throw UserError("layer \"{}\": 'pad same' needs an odd kernel", line_);
        window.pad_y = window.height / 2;
        window.pad_x = window.width / 2;
      } else {
        take_extent("the padding", window.pad_y, window.pad_x, 0);
      }
    } else {
      break;
    }
  }
  if (window.pad_y >= window.height || window.pad_x >= window.width)
    throw UserError("layer \"{}\": padding {}x{} is not smaller than the kernel {}x{}", line_,
                    window.pad_y, window.pad_x, window.height, window.width);
}

void LayerLine::expect_end() const {
  if (!empty()) throw UserError("layer \"{}\": '{}' is not understood here", line_, words_[at_]);
}

std::string window_text(const Window& w, bool stride_is_kernel) {
  std::string text = fmt::format("{}x{}", w.height, w.width);
  const bool plain = stride_is_kernel ? w.stride_y == w.height && w.stride_x == w.width
                                      : w.stride_y == 1 && w.stride_x == 1;
  if (!plain) text += fmt::format(" stride {}x{}", w.stride_y, w.stride_x);
  if (w.pad_y > 0 || w.pad_x > 0) text += fmt::format(" pad {}x{}", w.pad_y, w.pad_x);
  return text;
}

}  // namespace lockstep
