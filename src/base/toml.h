#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lockstep {

// A value of a configuration, and where it was written: "my.toml line 3".
struct TomlValue {
  std::variant<std::string, int64_t, double, bool, std::vector<std::string>> data;
  std::string where;

  std::string type() const;
};

using TomlValues = std::vector<std::pair<std::string, TomlValue>>;  // by dotted key

TomlValues parse_toml(const std::string& text, const std::string& source);

// The same, but lists may also hold numbers and booleans, which are returned as their TOML texts;
// entry i of an array of tables [[name]] has keys name.i.key.
TomlValues parse_toml_lists(const std::string& text, const std::string& source);

// "key=value" as on a command line: the value is TOML, or a bare string.
std::pair<std::string, TomlValue> parse_assignment(const std::string& assignment);

std::string toml_string(const std::string& text);  // quoted and escaped

}  // namespace lockstep
