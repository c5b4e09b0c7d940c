#include "study/study_parts.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/names.h"
#include "base/nearest.h"
#include "report/run_curves.h"
#include "study/results/columns.h"

namespace lockstep {
namespace {

PublishedValue published_value(const std::string& key, const TomlValue& value) {
  check_column(key, value.where);
  if (const auto* text = std::get_if<std::string>(&value.data)) {
    std::string digits = text->substr(0, text->find(" ("));
    const bool percent = digits.ends_with('%');
    if (percent) digits.pop_back();
    std::erase(digits, ',');  // of thousands
    double number = 0;
    const char* const end = digits.data() + digits.size();
    if (digits.empty() || std::from_chars(digits.data(), end, number).ptr != end ||
        !std::isfinite(number))
      throw UserError(
          "{}: the published {} is '{}'; a number was expected, as the document prints it: "
          "\"9,511.66\", \"98.80%\", \"9.28 (remark)\"",
          value.where, key, printable(*text));
    const bool fraction = percent && column_named(key).percentage;
    return {fraction ? number / 100 : number, *text};
  }
  const auto* real = std::get_if<double>(&value.data);
  const auto* whole = std::get_if<int64_t>(&value.data);
  if (!real && !whole)
    throw UserError("{}: the published {} is {}; a number was expected", value.where, key,
                    value.type());
  return {real ? *real : static_cast<double>(*whole), ""};
}

std::vector<std::string> list_of(const TomlValue& value) {
  if (const auto* list = std::get_if<std::vector<std::string>>(&value.data)) return *list;
  return {text_of(value)};
}

constexpr std::string_view published_key = "published";

// "350 = 0.82": a published point of a curve.
std::pair<double, double> published_point(const std::string& text, const std::string& where) {
  double x = 0, y = 0;
  const char* const end = text.data() + text.size();
  const auto skip_spaces = [&](const char* at) {
    while (at < end && *at == ' ') ++at;
    return at;
  };
  const char* at = skip_spaces(std::from_chars(text.data(), end, x).ptr);
  const bool has_x = at > text.data() && at < end && *at == '=';
  if (has_x) at = skip_spaces(at + 1);
  if (!has_x || at == end || std::from_chars(at, end, y).ptr != end || !std::isfinite(x) ||
      !std::isfinite(y))
    throw UserError("{}: a published point is '{}'; expected step = value, such as \"350 = 0.82\"",
                    where, printable(text));
  return {x, y};
}

// Keys of a [[figures]] or [[grids]] table: texts by name, columns, and where.KEY.
struct DrawnKeys {
  std::map<std::string, std::string> texts;
  std::vector<std::string> columns;
  Selection where;
  std::vector<std::pair<double, double>> published;
  std::string line;

  const std::string& at(const char* key) const {
    const auto found = texts.find(key);
    if (found == texts.end()) throw UserError("{}: '{}' is missing", line, key);
    return found->second;
  }
};

// `columns_are_values`: otherwise they are keys.
DrawnKeys drawn_keys(const Keys& keys, const std::vector<std::string>& known,
                     bool columns_are_values = true) {
  DrawnKeys all{.texts = {}, .columns = {}, .where = {}, .line = first_line(keys)};
  constexpr std::string_view where = "where.";
  for (const auto& [key, value] : keys) {
    if (key.starts_with(where)) {
      all.where[key.substr(where.size())] = list_of(value);
    } else if (std::find(known.begin(), known.end(), key) == known.end()) {
      throw UserError("{}: '{}' is not known here; {}", value.where, printable(key),
                      suggestion(key, known));
    } else if (key == "columns") {
      all.columns = list_of(value);
      if (columns_are_values)
        for (const std::string& column : all.columns) check_column(column, value.where);
    } else if (key == published_key) {
      for (const std::string& point : list_of(value))
        all.published.push_back(published_point(point, value.where));
    } else {
      all.texts[key] = text_of(value);
    }
  }
  expect_name(all.at("name"), all.line);
  return all;
}

FigureSpec curve_figure(const DrawnKeys& keys) {
  const std::string& curve = keys.at("curve");
  std::vector<std::string> known;
  for (const auto& [name, axis] : curve_axes()) known.push_back(name);
  if (std::find(known.begin(), known.end(), curve) == known.end())
    throw UserError("{}: there is no curve '{}'; {}", keys.line, printable(curve),
                    suggestion(curve, known));
  if (keys.texts.contains("x") || keys.texts.contains("ideal") || !keys.columns.empty())
    throw UserError("{}: a figure has either a curve, or x, columns and ideal; drop one of them",
                    keys.line);
  return {.name = keys.at("name"),
          .title = keys.at("title"),
          .where = keys.where,
          .curve = curve,
          .published = keys.published};
}

}  // namespace

std::string text_of(const TomlValue& value) {
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  if (const auto* number = std::get_if<int64_t>(&value.data)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&value.data)) return fmt::format("{}", *number);
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag ? "true" : "false";
  throw UserError("{}: one value was expected, not a list", value.where);
}

const std::string& first_line(const Keys& keys) {
  const auto earlier = [](const auto& a, const auto& b) {  // "line 9" is before "line 10"
    const std::string &x = a.second.where, &y = b.second.where;
    return x.size() != y.size() ? x.size() < y.size() : x < y;
  };
  return std::min_element(keys.begin(), keys.end(), earlier)->second.where;
}

PublishedPoint published_of(const Keys& keys) {
  PublishedPoint point;
  for (const auto& [key, value] : keys)
    if (key == label_key)
      point.label = text_of(value);
    else if (key == reference_key)
      point.reference = value_as<bool>(key, value);
    else
      point.values[key] = published_value(key, value);
  return point;
}

FigureSpec figure_of(const Keys& keys) {
  const DrawnKeys all =
      drawn_keys(keys, {"name", "title", "x", "columns", "ideal", "curve", "published"});
  if (all.texts.contains("curve")) return curve_figure(all);
  if (!all.published.empty())
    throw UserError(
        "{}: '{}' are points of a curve, and this figure has none; values of its points are in "
        "[[published]]",
        all.line, published_key);
  if (all.columns.empty()) throw UserError("{}: 'columns' is missing", all.line);
  const auto wanted = all.texts.find("ideal");
  const auto ideal =
      wanted == all.texts.end() ? std::optional(Ideal::none) : from_text<Ideal>(wanted->second);
  if (!ideal)
    throw UserError("{}: ideal = \"{}\" is not known; {}", all.line, printable(wanted->second),
                    suggestion(wanted->second, all_texts<Ideal>()));
  const bool bars = !all.texts.contains("x");
  if (bars && (all.columns.size() > 1 || *ideal != Ideal::none))
    throw UserError("{}: a figure without x has a bar per point: it has one column and no ideal",
                    all.line);
  return {.name = all.at("name"),
          .title = all.at("title"),
          .x = bars ? "" : all.at("x"),
          .columns = all.columns,
          .where = all.where,
          .ideal = *ideal};
}

GridSpec grid_of(const Keys& keys) {
  const DrawnKeys all = drawn_keys(keys, {"name", "title", "rows", "columns", "value"}, false);
  if (all.columns.size() != 1) throw UserError("{}: 'columns' is one key", all.line);
  check_column(all.at("value"), all.line);
  return {.name = all.at("name"),
          .title = all.at("title"),
          .rows = all.at("rows"),
          .columns = all.columns.front(),
          .value = all.at("value"),
          .where = all.where};
}

Claim claim_of(const Keys& keys) {
  Claim claim{.where = first_line(keys)};
  struct Text {
    const char* key;
    std::string Claim::*member;
  };
  struct Bound {
    const char* key;
    std::optional<double> Claim::*member;
  };
  static constexpr Text texts[] = {{"text", &Claim::text},       {"published", &Claim::published},
                                   {"column", &Claim::column},   {"point", &Claim::point},
                                   {"against", &Claim::against}, {"why", &Claim::why}};
  static constexpr Bound bounds[] = {{"at_least", &Claim::at_least}, {"at_most", &Claim::at_most}};
  std::vector<std::string> known;
  for (const Text& text : texts) known.emplace_back(text.key);
  for (const Bound& bound : bounds) known.emplace_back(bound.key);
  constexpr const char* ours_key = "ours";
  known.emplace_back(ours_key);
  for (const auto& [key, value] : keys) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw UserError("{}: '{}' is not known here; {}", value.where, printable(key),
                      suggestion(key, known));
    if (key == ours_key) claim.ours = value_as<bool>(key, value);
    for (const Text& text : texts)
      if (key == text.key) claim.*text.member = text_of(value);
    for (const Bound& bound : bounds)
      if (key == bound.key) {
        const auto* whole = std::get_if<int64_t>(&value.data);
        claim.*bound.member = whole ? static_cast<double>(*whole) : value_as<double>(key, value);
      }
  }
  for (const Text& needed : std::span(texts).first(4))
    if ((claim.*needed.member).empty() && needed.member != &Claim::published)
      throw UserError("{}: '{}' is missing", claim.where, needed.key);
  if (!claim.at_least && !claim.at_most)
    throw UserError("{}: a claim needs 'at_least' or 'at_most': the bound it is tested with",
                    claim.where);
  if (claim.at_least && claim.at_most && *claim.at_least > *claim.at_most)
    throw UserError("{}: at_least = {} is above at_most = {}", claim.where, *claim.at_least,
                    *claim.at_most);
  check_column(claim.column, claim.where);
  return claim;
}

}  // namespace lockstep
