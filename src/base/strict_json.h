#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/error.h"

namespace lockstep {

// Parses a JSON object of an untrusted file: nested at most `deepest` levels, no duplicate
// outermost keys. Header only, so that base itself does not depend on a JSON library.
template <typename Json>
Json parse_object(const std::string& text, const std::string& where, int deepest) {
  std::set<std::string> keys;
  const auto watch = [&](int depth, typename Json::parse_event_t event, Json& value) {
    if (depth > deepest) throw UserError("{} is nested more than {} levels deep", where, deepest);
    if (depth == 1 && event == Json::parse_event_t::key &&
        !keys.insert(value.template get<std::string>()).second)
      throw UserError("{}: '{}' appears twice", where, value.template get<std::string>());
    return true;
  };
  Json json = Json::parse(text, watch, false);
  if (!json.is_object()) throw UserError("{} is not a JSON object", where);
  return json;
}

}  // namespace lockstep
