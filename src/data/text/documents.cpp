#include "data/text/documents.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "base/error.h"
#include "base/nearest.h"
#include "base/rng.h"
#include "data/formats/csv.h"
#include "data/split.h"
#include "data/text/text_template.h"
#include "os/files.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

// A table of texts, row by row.
class Rows {
 public:
  virtual ~Rows() = default;
  virtual bool next() = 0;
  // `key`: the setting that names the column, for the error message.
  virtual const std::string& value(const std::string& column, const char* key) const = 0;
};

constexpr const char* template_key = "data.template";
constexpr const char* split_key = "data.split_column";

[[noreturn]] void no_column(const std::string& where, const std::string& column, const char* key,
                            const std::vector<std::string>& known) {
  const std::string close = nearest(column, known);
  throw UserError(
      "{} has no column '{}', which {} names{}; its columns are {}{}", where, column, key,
      close.empty() ? "" : fmt::format("; did you mean '{}'?", close), join(known, ", "),
      key == split_key ? "; set data.split_column to the column with train, valid or test, or to "
                         "\"\" and use data.validation and data.test"
                       : "");
}

class CsvRows final : public Rows {
 public:
  explicit CsvRows(const std::string& path)
      : text_(read_text(path)), path_(path), reader_(text_, path) {
    if (!reader_.next(names_)) throw UserError("{} is empty; expected a header and rows", path);
  }
  bool next() override {
    if (!reader_.next(fields_)) return false;
    if (fields_.size() != names_.size())
      throw UserError("{}, line {}: {} fields, but the header has {}", path_, reader_.line(),
                      fields_.size(), names_.size());
    return true;
  }
  const std::string& value(const std::string& column, const char* key) const override {
    const auto found = std::find(names_.begin(), names_.end(), column);
    if (found == names_.end()) no_column(path_, column, key, names_);
    return fields_[static_cast<size_t>(found - names_.begin())];
  }

 private:
  std::string text_, path_;
  CsvReader reader_;
  std::vector<std::string> names_, fields_;
};

class JsonRows final : public Rows {
 public:
  explicit JsonRows(const std::string& path) : lines_(read_text(path)), path_(path) {}
  bool next() override {
    for (std::string line; std::getline(lines_, line);) {
      ++line_;
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      const Json json = Json::parse(line, nullptr, false);
      if (!json.is_object()) throw UserError("{}, line {}: not a JSON object", path_, line_);
      fields_.clear();
      for (const auto& [name, field] : json.items())
        if (!field.is_structured())
          fields_[name] = field.is_string() ? field.get<std::string>() : field.dump();
      return true;
    }
    return false;
  }
  const std::string& value(const std::string& column, const char* key) const override {
    const auto found = fields_.find(column);
    if (found != fields_.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [name, field] : fields_) known.push_back(name);
    no_column(fmt::format("{}, line {}:", path_, line_), column, key, known);
  }

 private:
  std::istringstream lines_;
  std::string path_;
  int64_t line_ = 0;
  std::map<std::string, std::string> fields_;
};

std::unique_ptr<Rows> open_rows(const std::string& path) {
  if (path.ends_with(".csv")) return std::make_unique<CsvRows>(path);
  return std::make_unique<JsonRows>(path);
}

// The part that a value of the split column stands for; null: the row is left out.
const TextPart* named_part(const std::string& value) {
  static const std::map<std::string, TextPart> parts = {{"train", TextPart::train},
                                                        {"valid", TextPart::validation},
                                                        {"validation", TextPart::validation},
                                                        {"dev", TextPart::validation},
                                                        {"test", TextPart::test}};
  const auto found = parts.find(value);
  return found == parts.end() ? nullptr : &found->second;
}

void draw_parts(std::vector<Document>& documents, const DataConfig& config, uint64_t seed) {
  std::vector<int64_t> shuffled(documents.size());
  std::iota(shuffled.begin(), shuffled.end(), int64_t{0});
  Rng rng(seed, Purpose::split);
  shuffle(shuffled, rng);
  size_t at = 0;
  const auto give = [&](double asked, const char* key, TextPart part) {
    if (asked == 0) return;
    const int64_t count = part_size(asked, static_cast<int64_t>(documents.size() - at), key);
    for (int64_t i = 0; i < count; ++i) documents[static_cast<size_t>(shuffled[at++])].part = part;
  };
  give(config.test, "data.test", TextPart::test);
  give(config.validation, "data.validation", TextPart::validation);
}

}  // namespace

bool is_text_table(const std::string& path) {
  return path.ends_with(".csv") || path.ends_with(".jsonl");
}

std::vector<Document> read_documents(const DataConfig& config, uint64_t seed, std::string& note) {
  const TextTemplate form(config.text_template);
  const std::vector<std::string> columns = form.columns();
  const std::unique_ptr<Rows> rows = open_rows(config.path);
  std::vector<Document> documents;
  std::map<std::string, int64_t> left_out;
  while (rows->next()) {
    Document document{.text = form.fill([&](size_t i) -> const std::string& {
      return rows->value(columns[i], template_key);
    })};
    if (!config.split_column.empty()) {
      const std::string& value = rows->value(config.split_column, split_key);
      const TextPart* part = named_part(value);
      if (!part) {
        ++left_out[value];
        continue;
      }
      document.part = *part;
    }
    documents.push_back(std::move(document));
  }
  for (const auto& [value, count] : left_out)
    note += fmt::format(", {} rows of '{}' left out", count, value);
  if (documents.empty())
    throw UserError("{} has no rows to train on{}", config.path,
                    note.empty() ? ""
                                 : note + "; expected train, valid or test in column '" +
                                       config.split_column + "'");
  if (config.split_column.empty()) draw_parts(documents, config, seed);
  return documents;
}

}  // namespace lockstep
