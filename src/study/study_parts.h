#pragma once

#include <map>

#include "base/error.h"
#include "base/toml.h"
#include "study/study.h"

namespace lockstep {

using Keys = std::vector<std::pair<std::string, TomlValue>>;

// Sections of the file. [quick] may contain the same ones.
struct Sections {
  std::map<std::string, TomlValue> plain;  // by key
  Keys set, grid;
  std::map<int, Keys> points, published, figures, grids, claims;
};

constexpr std::string_view label_key = "label", reference_key = "reference";

// The tables of a study's file that describe what is shown and compared: [[published]],
// [[figures]],
// [[grids]], [[claims]]. Each throws a UserError that names the line.
PublishedPoint published_of(const Keys& keys);
FigureSpec figure_of(const Keys& keys);
GridSpec grid_of(const Keys& keys);
Claim claim_of(const Keys& keys);

// Where a table begins: the parser sorts its keys by name.
const std::string& first_line(const Keys& keys);
// A value that is not a list, as text.
std::string text_of(const TomlValue& value);
template <typename T>
const T& value_as(const std::string& key, const TomlValue& value) {
  if (const T* found = std::get_if<T>(&value.data)) return *found;
  throw UserError("{}: {} is {}, which is not possible", value.where, key, value.type());
}

}  // namespace lockstep
