#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// Reads comma-separated values (RFC 4180): quotes, line ends inside quotes, CRLF. Skips a byte
// order mark and empty lines. `name` is the file, for messages.
class CsvReader {
 public:
  CsvReader(std::string_view text, std::string name);

  // The fields of the next record; false at the end. Reuses the strings.
  bool next(std::vector<std::string>& fields);

  int64_t line() const { return record_line_; }  // first line of the last record, from 1

 private:
  void read_quoted(std::string& field);
  void read_plain(std::string& field);
  bool at_line_end() const;
  void skip_line_end();

  std::string_view text_;
  std::string name_;
  size_t at_ = 0;
  int64_t line_ = 1;
  int64_t record_line_ = 0;
};

}  // namespace lockstep
