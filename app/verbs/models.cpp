#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/with_commas.h"
#include "config/presets.h"
#include "data/sources/registry.h"
#include "nn/sequence.h"
#include "text.h"
#include "train/rank_memory.h"
#include "train/shares.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

struct Options {
  std::string config;
  std::vector<std::string> changes;
  std::string input;
  int64_t ranks = 0;  // 0: as configured
  bool json = false;
};

// Built-in data sets have known shapes, so that a summary needs no download.
Shape input_shape(const RunConfig& config, const std::string& given) {
  if (!given.empty()) return parse_shape(given);
  const Source& source = find_source(config.data.name);
  if (source.shape) return source.shape(config.data);
  throw UserError(
      "the shape of {}'s samples is not known before they are read; give --input, e.g. --input "
      "28x28x1",
      config.data.name);
}

RankMemory memory_of(const RunConfig& config, const Network& network) {
  const int64_t all = std::max<int64_t>(1, global_batch(config, 1 << 20, config.parallel.ranks));
  const int64_t rows = (all + config.parallel.ranks - 1) / config.parallel.ranks;
  return training_memory(config, network, micro_batch_rows(config, rows));
}

struct LayerRow {
  std::string name, text, output;
  int64_t parameters;
  double flops;
};

std::vector<LayerRow> layer_rows(const Network& network) {
  std::vector<LayerRow> rows;
  visit(
      network.layers(), network.input(),
      [&](const Layer& layer, const std::string& name, const SampleShape& in) {
        int64_t count = 0;
        for (const ParameterSpec& p : layer.parameters(in)) count += p.stored.elements();
        rows.push_back({name, layer.text(), layer.output(in).shape.text(), count, layer.flops(in)});
      });
  return rows;
}

bool is_same(const LayerRow& a, const LayerRow& b) {
  return a.text == b.text && a.output == b.output && a.parameters == b.parameters;
}

// How many times in a row the `length` rows at `from` occur.
size_t repeats(const std::vector<LayerRow>& rows, size_t from, size_t length) {
  size_t times = 1;
  while (from + (times + 1) * length <= rows.size() &&
         std::equal(rows.begin() + static_cast<std::ptrdiff_t>(from),
                    rows.begin() + static_cast<std::ptrdiff_t>(from + length),
                    rows.begin() + static_cast<std::ptrdiff_t>(from + times * length), is_same))
    ++times;
  return times;
}

// Rows of the table; of repeated blocks only the first, with the number of repetitions.
std::vector<std::vector<std::string>> folded(const std::vector<LayerRow>& rows) {
  std::vector<std::vector<std::string>> shown;
  for (size_t at = 0; at < rows.size();) {
    size_t length = 1, times = 1;  // the block whose folding saves most rows
    for (size_t candidate = 1; candidate <= (rows.size() - at) / 2; ++candidate)
      if (const size_t found = repeats(rows, at, candidate);
          found > 1 && (found - 1) * candidate > (times - 1) * length)
        length = candidate, times = found;
    const bool folds = (times - 1) * length > 2;  // the "..." line takes a row itself
    for (size_t i = at; i < at + length; ++i)
      shown.push_back({rows[i].name, rows[i].text, rows[i].output, with_commas(rows[i].parameters),
                       short_count(rows[i].flops)});
    if (folds)
      shown.push_back(
          {"...", fmt::format("{} times in total", times), rows[at + length - 1].output, "", ""});
    at += folds ? times * length : length;
  }
  return shown;
}

std::string summary(const RunConfig& config, const Network& network) {
  std::vector<std::vector<std::string>> rows = {{"layer", "", "output", "parameters", "flops"}};
  rows.push_back({"input", "", network.input().text(), "0", "0"});
  for (std::vector<std::string>& row : folded(layer_rows(network))) rows.push_back(std::move(row));
  rows.push_back(
      {"total", "", "", with_commas(network.parameter_count()), short_count(network.flops())});
  const RankMemory m = memory_of(config, network);
  const std::string length = config.train.steps > 0 ? fmt::format("{} steps", config.train.steps)
                                                    : fmt::format("{} epochs", config.train.epochs);
  return fmt::format(
      "{}: {}\n\n{}\nflops: forward, one sample. Training: {}, batch {}, {}, {} {}\n"
      "Memory per rank, {} rank{}: weights {:.1f} MB, gradients {:.1f}, optimiser {:.1f}, "
      "activations {:.1f}; total {:.1f} MB\n",
      config.name, config.description, table(rows), config.data.name,
      config.train.batch == 0 ? "full" : std::to_string(config.train.batch), length,
      config.optimizer.name, config.optimizer.lr, config.parallel.ranks,
      config.parallel.ranks == 1 ? "" : "s", m.weights / 1e6, m.gradients / 1e6, m.optimizer / 1e6,
      m.activations / 1e6, m.sum() / 1e6);
}

nlohmann::ordered_json to_json(const RunConfig& config, const Network& network) {
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (const LayerRow& row : layer_rows(network))
    layers.push_back({{"name", row.name},
                      {"layer", row.text},
                      {"output", row.output},
                      {"parameters", row.parameters},
                      {"flops", row.flops}});
  const RankMemory m = memory_of(config, network);
  return {{"name", config.name},
          {"description", config.description},
          {"input", network.input().text()},
          {"layers", layers},
          {"parameters", network.parameter_count()},
          {"flops", network.flops()},
          {"memory_bytes_per_rank",
           {{"weights", m.weights},
            {"gradients", m.gradients},
            {"optimizer", m.optimizer},
            {"activations", m.activations}}}};
}

void models(const Options& options) {
  if (!options.config.empty()) {
    RunConfig config = find_config(options.config, options.changes);
    if (options.ranks > 0) config.parallel.ranks = options.ranks;
    const Network network(config.model.layers, input_shape(config, options.input));
    fmt::print("{}",
               options.json ? to_json(config, network).dump(2) + "\n" : summary(config, network));
    return;
  }
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  std::vector<std::vector<std::string>> rows = {{"preset", "parameters", "flops", "description"}};
  for (const Preset& preset : presets()) {
    const RunConfig config = find_config(preset.name, {});
    if (config.model.layers.empty()) {  // layers come from the directory model.from
      rows.push_back({preset.name, "-", "-", config.description});
      all.push_back({{"name", preset.name}, {"description", config.description}});
      continue;
    }
    const Network network(config.model.layers, input_shape(config, ""));
    rows.push_back({preset.name, with_commas(network.parameter_count()),
                    short_count(network.flops()), config.description});
    all.push_back(to_json(config, network));
  }
  if (options.json)
    fmt::print("{}\n", all.dump(2));
  else
    fmt::print("{}layers of a preset: lockstep models NAME\n", table(rows));
}

}  // namespace

void add_models_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("models", R"(List the presets, or the layers of one.

Examples:
  lockstep models
  lockstep models cnn-690k
  lockstep models my.toml --input 32x32x3 --json
  lockstep models gpt2-medium --ranks 8 --set data.context=256
)");
  verb->add_option("config", options->config, "a preset or a TOML file");
  verb->add_option("--set", options->changes, "change a key of the configuration: key=value")
      ->type_name("KEY=VALUE");
  verb->add_option("--input", options->input, "shape of a sample, if it is not known");
  verb->add_option("--ranks", options->ranks, "number of ranks, for the memory per rank")
      ->check(CLI::Range(1, 100000));
  verb->add_flag("--json", options->json, "print JSON instead of a table");
  verb->callback([options] { models(*options); });
}

}  // namespace lockstep
