#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/run_config.h"

namespace lockstep {

// Access to an enum setting through its texts, independent of the enum's type.
struct EnumTarget {
  void* value;
  const char* (*text)(const void* value);
  bool (*set)(void* value, const std::string& text);  // false: unknown text
};
template <typename Enum>
EnumTarget enum_target(Enum& value) {
  return {&value, [](const void* at) { return to_text(*static_cast<const Enum*>(at)); },
          [](void* at, const std::string& text) {
            const std::optional<Enum> found = from_text<Enum>(text);
            if (found) *static_cast<Enum*>(at) = *found;
            return found.has_value();
          }};
}

// One key of the configuration: its meaning, the field it sets and the values it accepts.
struct Setting {
  using Target = std::variant<std::string*, int64_t*, int*, double*, bool*,
                              std::vector<std::string>*, EnumTarget>;
  std::string key;
  std::string description;
  std::function<Target(RunConfig&)> target;
  std::vector<std::string> choices = {};  // accepted texts; empty: any
  double least = 0;                       // range of a number
  bool least_is_excluded = false;
  double most = 1e300;
};

const std::vector<Setting>& settings();
std::string value_text(const Setting& setting, RunConfig& config);  // as TOML
std::string default_text(const Setting& setting);                   // as TOML

}  // namespace lockstep
