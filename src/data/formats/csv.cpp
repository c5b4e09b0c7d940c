#include "data/formats/csv.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace lockstep {

CsvReader::CsvReader(std::string_view text, std::string name)
    : text_(text), name_(std::move(name)) {
  if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
}

bool CsvReader::next(std::vector<std::string>& fields) {
  while (at_ < text_.size() && at_line_end()) skip_line_end();
  if (at_ >= text_.size()) return false;
  record_line_ = line_;
  for (size_t count = 0;; ++at_) {  // each iteration reads a field and stops after it
    if (fields.size() == count) fields.emplace_back();
    std::string& field = fields[count++];
    if (at_ < text_.size() && text_[at_] == '"')
      read_quoted(field);
    else
      read_plain(field);
    if (at_ < text_.size() && text_[at_] == ',') continue;
    fields.resize(count);
    if (at_ < text_.size()) skip_line_end();
    return true;
  }
}

void CsvReader::read_plain(std::string& field) {
  const size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != ',' && !at_line_end()) ++at_;
  field.assign(text_.substr(begin, at_ - begin));
}

void CsvReader::read_quoted(std::string& field) {
  const int64_t opened = line_;
  field.clear();
  for (++at_;; ++at_) {
    if (at_ >= text_.size())
      throw UserError("{}, line {}: the quote that opens here is never closed", name_, opened);
    if (text_[at_] == '\n') ++line_;
    if (text_[at_] == '"') {
      const bool doubled = at_ + 1 < text_.size() && text_[at_ + 1] == '"';
      if (!doubled) break;
      ++at_;
    }
    field += text_[at_];
  }
  ++at_;
  if (at_ < text_.size() && text_[at_] != ',' && !at_line_end())
    throw UserError(
        "{}, line {}: text follows a closing quote; expected a comma or the end of the "
        "line (a quote inside quotes is written twice)",
        name_, line_);
}

bool CsvReader::at_line_end() const {
  return text_[at_] == '\n' ||
         (text_[at_] == '\r' && (at_ + 1 == text_.size() || text_[at_ + 1] == '\n'));
}

void CsvReader::skip_line_end() {
  if (text_[at_] == '\r') ++at_;
  if (at_ < text_.size() && text_[at_] == '\n') ++at_;
  ++line_;
}

}  // namespace lockstep
