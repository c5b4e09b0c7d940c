#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// The texts of an enum's values in files and on command lines, in the enum's order:
//   enum class Mode { fast, reproducible };
//   template <> inline constexpr auto enum_texts<Mode> = std::array{"fast", "reproducible"};
template <typename Enum>
inline constexpr auto enum_texts = std::array<const char*, 0>{};

template <typename Enum>
constexpr const char* to_text(Enum value) {
  return enum_texts<Enum>[static_cast<size_t>(value)];
}

template <typename Enum>
std::vector<std::string> all_texts() {
  return {enum_texts<Enum>.begin(), enum_texts<Enum>.end()};
}

template <typename Enum>
std::optional<Enum> from_text(std::string_view text) {
  const auto& all = enum_texts<Enum>;
  const auto found = std::ranges::find_if(all, [&](const char* one) { return text == one; });
  if (found == all.end()) return std::nullopt;
  return static_cast<Enum>(found - all.begin());
}

}  // namespace lockstep
