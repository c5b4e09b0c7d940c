#include "data/sources/csv_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"
#include "data/datasets/table_dataset.h"
#include "data/formats/csv.h"

namespace lockstep {
namespace {

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Parses the whole text as a number; infinity and NaN are accepted.
std::optional<double> as_number(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error == std::errc::invalid_argument || end != text.data() + text.size())
    return std::nullopt;
  return error == std::errc::result_out_of_range ? HUGE_VAL : value;
}

// `where` is called only on errors.
template <typename Where>
float feature_value(const std::string& field, const Where& where) {
  const std::optional<double> value = as_number(field);
  if (!value)
    throw UserError(
        "{}: {} where a number was expected; turn text columns into numbers or leave "
        "them out",
        where(), field.empty() ? "nothing is" : "'" + field.substr(0, 40) + "' is");
  const auto narrow = static_cast<float>(*value);
  if (!std::isfinite(narrow))
    throw UserError(
        "{}: '{}' is not a finite number a float can hold; correct the row or leave it "
        "out",
        where(), field.substr(0, 40));
  return narrow;
}

size_t find_label(const std::vector<std::string>& header, const std::string& label,
                  const std::string& name) {
  const auto found = std::find(header.begin(), header.end(), label);
  if (found != header.end()) return static_cast<size_t>(found - header.begin());
  if (std::all_of(header.begin(), header.end(), as_number))
    throw UserError(
        "{}, line 1: the file has no header, its first line is numbers; expected the "
        "names of the columns, one of them '{}' (data.label)",
        name, label);
  throw UserError("{}, line 1: there is no column '{}' (data.label); {}", name, label,
                  suggestion(label, header));
}

// If all names are numbers, sorted by value, so that class 10 follows class 9; else alphabetically.
std::vector<std::string> in_order(const std::map<std::string, int32_t>& met) {
  std::vector<std::string> names;
  for (const auto& [name, number] : met) names.push_back(name);
  if (std::all_of(names.begin(), names.end(), as_number))
    std::stable_sort(names.begin(), names.end(),
                     [](const auto& a, const auto& b) { return *as_number(a) < *as_number(b); });
  return names;
}

}  // namespace

SourceData read_csv_table(const fs::path& path, const std::string& label) {
  const std::string text = read_text(path), name = path.string();
  CsvReader reader(text, name);
  std::vector<std::string> header, fields;
  if (!reader.next(header)) throw UserError("{} is empty; expected a header and rows", name);
  for (std::string& column : header) column = trimmed(column);
  const size_t label_column = find_label(header, label, name);
  std::vector<std::string> features = header;
  features.erase(features.begin() + static_cast<std::ptrdiff_t>(label_column));
  if (features.empty())
    throw UserError("{}: the label '{}' is the only column; expected columns of numbers too", name,
                    label);

  std::vector<float> values;
  std::vector<int32_t> labels;         // numbered by first occurrence, renumbered at the end
  std::map<std::string, int32_t> met;  // class name to number
  while (reader.next(fields)) {
    if (fields.size() != header.size())
      throw UserError("{}, line {}: {} fields, but the header names {} columns", name,
                      reader.line(), fields.size(), header.size());
    for (size_t column = 0; column < fields.size(); ++column)
      if (column != label_column)
        values.push_back(feature_value(fields[column], [&] {
          return fmt::format("{}, line {}, column '{}'", name, reader.line(), header[column]);
        }));
    const std::string class_name(trimmed(fields[label_column]));
    if (class_name.empty())
      throw UserError("{}, line {}, column '{}': the class is missing", name, reader.line(), label);
    labels.push_back(met.emplace(class_name, static_cast<int32_t>(met.size())).first->second);
  }
  if (labels.empty()) throw UserError("{} holds a header but no rows", name);

  const std::vector<std::string> classes = in_order(met);
  std::vector<int32_t> place(classes.size());
  for (size_t i = 0; i < classes.size(); ++i)
    place[static_cast<size_t>(met[classes[i]])] = static_cast<int32_t>(i);
  for (int32_t& number : labels) number = place[static_cast<size_t>(number)];
  SourceData data;
  data.train_rows = static_cast<int64_t>(labels.size());
  data.samples = std::make_unique<TableDataset>(std::move(features), std::move(values),
                                                std::move(labels), classes);
  return data;
}

SourceData load_csv(const DataConfig& config, const Say&, const OwnPart*) {
  const std::string path = required_path(config, "a CSV file with a header");
  SourceData data = read_csv_table(path, config.label);
  data.provenance = "csv: " + path + " (" + size_text(data) + ")";
  return data;
}

}  // namespace lockstep
