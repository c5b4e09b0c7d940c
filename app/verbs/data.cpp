#include "verbs/data.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/with_commas.h"
#include "data/fetch/fetch.h"
#include "data/load.h"
#include "data/sources/registry.h"
#include "data/view/contact_sheet.h"
#include "data/view/terminal_sheet.h"

namespace lockstep {
namespace {

struct Options {
  DataConfig data;
  std::string from, rows = "0..24", out, split = "train";
  bool json = false;
};

void list() {
  for (const Source& source : sources()) {
    std::string state = "included";
    if (source.origin == Origin::own) state = "your files";
    if (source.origin == Origin::fetched)
      state = is_cached(source.name) ? "cached" : "fetched on first use";
    fmt::print("{:<16} {:<24} {}\n", source.name, state, source.description);
  }
}

void get(const Options& options) {
  if (is_fetch_set(options.data.name)) {
    fmt::print("{}\n", fetch(options.data.name, options.from, say_to_stderr).string());
    return;
  }
  const Source& source = find_source(options.data.name);
  if (source.origin == Origin::own)
    throw UserError("'{}' cannot be fetched: it reads your own files, set data.path", source.name);
  fmt::print("{}\n", shipped_folder().string());
}

struct ClassCount {
  int64_t train = 0, test = 0;
};

std::vector<ClassCount> count_classes(const SourceData& data) {
  std::vector<ClassCount> counts(data.samples->classes().size());
  if (counts.empty()) return counts;  // text
  for (int64_t row = 0; row < data.samples->size(); ++row) {
    ClassCount& count = counts[static_cast<size_t>(data.samples->label(row))];
    ++(row < data.train_rows ? count.train : count.test);
  }
  return counts;
}

void print_json(const Options& options, const SourceData& data) {
  nlohmann::ordered_json shape = nlohmann::json::array(), classes = nlohmann::json::array();
  const Shape sample = data.samples->sample_shape();
  for (int axis = 0; axis < sample.rank(); ++axis) shape.push_back(sample[axis]);
  const std::vector<ClassCount> counts = count_classes(data);
  for (size_t i = 0; i < counts.size(); ++i)
    classes.push_back({{"name", data.samples->classes()[i]},
                       {"train", counts[i].train},
                       {"test", counts[i].test}});
  const nlohmann::ordered_json info = {{"name", options.data.name},
                                       {"provenance", data.provenance},
                                       {"train", data.train_rows},
                                       {"test", data.test_rows()},
                                       {"shape", shape},
                                       {"classes", classes}};
  // File and column names may not be UTF-8; invalid bytes are replaced.
  fmt::print("{}\n", info.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

void info(const Options& options) {
  const SourceData data = find_source(options.data.name).load(options.data, say_to_stderr, nullptr);
  if (options.json) return print_json(options, data);
  fmt::print("{}\n\ntraining samples  {}\ntest samples      {}\nshape             {}\n\n",
             data.provenance, with_commas(data.train_rows), with_commas(data.test_rows()),
             data.samples->sample_shape().text());
  if (data.samples->classes().empty()) return;
  const std::vector<ClassCount> counts = count_classes(data);
  size_t width = 5;
  for (const std::string& name : data.samples->classes()) width = std::max(width, name.size());
  fmt::print("{:<{}}  {:>10}  {:>10}\n", "class", width, "train", "test");
  for (size_t i = 0; i < counts.size(); ++i)
    fmt::print("{:<{}}  {:>10}  {:>10}\n", data.samples->classes()[i], width,
               with_commas(counts[i].train), with_commas(counts[i].test));
}

int64_t parse_row(std::string_view text, const std::string& all) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw UserError("'{}' is not a range of rows; expected FIRST..LAST, such as 0..24", all);
  return value;
}

// Converts "0..24" or "7", counted within the split, to row numbers of the whole data set.
std::vector<int64_t> parse_rows(const Options& options, const SourceData& data) {
  const std::string& text = options.rows;
  const size_t dots = text.find("..");
  const int64_t first = parse_row(std::string_view(text).substr(0, dots), text);
  const int64_t last =
      dots == std::string::npos ? first : parse_row(std::string_view(text).substr(dots + 2), text);
  const bool test = from_text<SplitPart>(options.split) == SplitPart::test;
  const int64_t size = test ? data.test_rows() : data.train_rows;
  if (size == 0) throw UserError("{} has no test part", data.provenance);
  if (first > last || last >= size)
    throw UserError("rows {} are not in the {} part, which has {} (0..{})", text, options.split,
                    with_commas(size), size - 1);
  std::vector<int64_t> rows;
  for (int64_t row = first; row <= last; ++row) rows.push_back(row + (test ? data.train_rows : 0));
  return rows;
}

int64_t terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 100;
}

void show(const Options& options) {
  const SourceData data = find_source(options.data.name).load(options.data, say_to_stderr, nullptr);
  const auto* images = dynamic_cast<const ImageDataset*>(data.samples.get());
  if (!images)
    throw UserError("{} holds tables, not images; try 'lockstep data info {}'", data.provenance,
                    options.data.name);
  const std::vector<int64_t> rows = parse_rows(options, data);
  if (!options.out.empty()) {
    write_png(options.out, contact_sheet(*images, rows));
    fmt::print("{}\n", options.out);
    return;
  }
  const bool colour = ::isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
  fmt::print("{}", terminal_sheet(*images, rows, terminal_width(), colour));
}

void add_source_options(CLI::App& verb, Options& options) {
  verb.add_option("name", options.data.name, "a data set, see 'lockstep data list'")->required();
  verb.add_option("--path", options.data.path, "your file or folder (data.path)");
  verb.add_option("--label", options.data.label, "csv: the column of labels (data.label)");
}

}  // namespace

void add_data_verb(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* data = app.add_subcommand("data", R"(List, fetch and show data sets.

Examples:
  lockstep data list
  lockstep data get mnist
  lockstep data info csv --path table.csv --label species
  lockstep data show mnist 0..24 --out digits.png
)");
  data->require_subcommand(1);
  data->add_subcommand("list", "List the data sets and whether they are cached")->callback(list);

  CLI::App* get_verb = data->add_subcommand("get", "Fetch a data set into the cache");
  get_verb->add_option("name", options->data.name, "a data set, or gpt2-bpe")->required();
  get_verb->add_option("--from", options->from, "take the files from this folder");
  get_verb->callback([options] { get(*options); });

  CLI::App* info_verb =
      data->add_subcommand("info", "Print sizes, shape and classes of a data set");
  add_source_options(*info_verb, *options);
  info_verb->add_flag("--json", options->json, "print JSON");
  info_verb->callback([options] { info(*options); });

  CLI::App* show_verb = data->add_subcommand("show", "Show images of a data set");
  add_source_options(*show_verb, *options);
  show_verb->add_option("rows", options->rows, "FIRST..LAST")->capture_default_str();
  show_verb->add_option("--out", options->out, "write a PNG contact sheet instead");
  show_verb->add_option("--split", options->split, "train or test")
      ->check(CLI::IsMember({"train", "test"}))
      ->capture_default_str();
  show_verb->callback([options] { show(*options); });
}

}  // namespace lockstep
