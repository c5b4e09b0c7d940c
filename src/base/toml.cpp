#include "base/toml.h"

#include <toml++/toml.h>

#include "base/error.h"

namespace lockstep {
namespace {

std::string location(const toml::node& node, const std::string& source) {
  return fmt::format("{} line {}", source, node.source().begin.line);
}

// An item of a list as a configuration would write it.
std::string item_text(const toml::node& item, const std::string& key, const std::string& source) {
  if (const auto number = item.as_integer()) return std::to_string(number->get());
  if (const auto number = item.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto flag = item.as_boolean()) return flag->get() ? "true" : "false";
  throw UserError("{}: {} holds something that is neither text, number nor true/false",
                  location(item, source), key);
}

TomlValue value_of(const toml::node& node, const std::string& key, const std::string& source,
                   bool any_lists = false) {
  const std::string where = location(node, source);
  if (const auto text = node.as_string()) return {text->get(), where};
  if (const auto number = node.as_integer()) return {number->get(), where};
  if (const auto number = node.as_floating_point()) return {number->get(), where};
  if (const auto flag = node.as_boolean()) return {flag->get(), where};
  if (const auto list = node.as_array()) {
    std::vector<std::string> items;
    for (const toml::node& item : *list) {
      const auto text = item.as_string();
      if (!text && any_lists) {
        items.push_back(item_text(item, key, source));
        continue;
      }
      if (!text)
        throw UserError("{}: {} holds something that is not a string", location(item, source), key);
      items.push_back(text->get());
    }
    return {items, where};
  }
  throw UserError("{}: the value of {} is neither text, number, true/false nor a list of texts",
                  where, key);
}

void collect(const toml::table& table, const std::string& prefix, const std::string& source,
             TomlValues& values, bool any_lists) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    if (const toml::table* inner = node.as_table())
      collect(*inner, key + ".", source, values, any_lists);
    else if (const toml::array* tables = node.as_array();
             any_lists && tables && tables->is_array_of_tables())
      for (size_t i = 0; i < tables->size(); ++i)
        collect(*(*tables)[i].as_table(), fmt::format("{}.{}.", key, i), source, values, true);
    else
      values.emplace_back(key, value_of(node, key, source, any_lists));
  }
}

constexpr int most_parts = 20;  // of a dotted key

// The line of a key with more parts; 0 where there is none. A key of 100,000 parts would make
// tables as deep, and taking them apart would exhaust the stack. Values within values are limited
// by the parser itself.
int line_of_long_key(const std::string& text) {
  int line = 1, dots = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      const std::string three(3, c),
          quote = text.compare(at, 3, three) == 0 ? three : three.substr(2);
      size_t end = at + quote.size();
      while (end < text.size() && text.compare(end, quote.size(), quote) != 0) {
        if (c == '"' && text[end] == '\\') ++end;
        if (end < text.size() && text[end] == '\n') {
          if (quote.size() == 1) break;  // not closed: for the parser to say
          ++line;
        }
        ++end;
      }
      at = end + quote.size() - 1;
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size()) - 1;
    } else if (c == '\n') {
      ++line;
      dots = 0;
    } else if (c == '=' || c == ',' || c == '{' || c == '[') {
      dots = 0;
    } else if (c == '.' && ++dots >= most_parts) {
      return line;
    }
  }
  return 0;
}

}  // namespace

std::string TomlValue::type() const {
  static const char* names[] = {"text", "a whole number", "a number", "true or false",
                                "a list of texts"};
  return names[data.index()];
}

namespace {

TomlValues parse(const std::string& text, const std::string& source, bool any_lists) {
  if (const int line = line_of_long_key(text))
    throw UserError("{} line {}: a key has more than {} parts", source, line, most_parts);
  TomlValues values;
  try {
    collect(toml::parse(text, source), "", source, values, any_lists);
  } catch (const toml::parse_error& error) {
    throw UserError("{} line {}, column {}: {}", source, error.source().begin.line,
                    error.source().begin.column, error.description());
  }
  return values;
}

}  // namespace

TomlValues parse_toml(const std::string& text, const std::string& source) {
  return parse(text, source, false);
}

TomlValues parse_toml_lists(const std::string& text, const std::string& source) {
  return parse(text, source, true);
}

std::pair<std::string, TomlValue> parse_assignment(const std::string& assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UserError("--set {}: expected key=value, for example --set train.epochs=3", assignment);
  const std::string key = assignment.substr(0, equals), value = assignment.substr(equals + 1);
  const std::string where = "--set " + assignment;
  if (line_of_long_key(value) > 0) return {key, {value, where}};  // no TOML, perhaps a path
  try {
    const toml::table table = toml::parse("value = " + value);
    TomlValue parsed = value_of(*table.get("value"), key, where);
    parsed.where = where;
    return {key, parsed};
  } catch (const toml::parse_error&) {
    return {key, {value, where}};
  }
}

std::string toml_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n')
      quoted += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      quoted += c;
  }
  return quoted + "\"";
}

}  // namespace lockstep
