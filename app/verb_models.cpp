#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/sources/registry.h"
#include "nn/sequence.h"
#include "presets.h"
#include "text.h"
#include "verbs.h"

namespace lockstep {
namespace {

struct Options {
  std::string config;
  std::vector<std::string> changes;
  std::string input;
  bool json = false;
};

// The shape of a well-known source's samples, so that a summary needs no download.
Shape input_shape(const RunConfig& config, const std::string& given) {
  if (!given.empty()) return parse_shape(given);
  if (config.data.name == "posts") return {config.data.vocabulary};
  if (config.data.name == "iris") return {4};
  if (config.data.name == "cifar-10") return {32, 32, 3};
  const auto& known = config.data.name;
  if (known == "mnist" || known == "fashion-mnist" || known == "mnist-sample") return {28, 28, 1};
  throw UserError(
      "the shape of {}'s samples is not known before they are read; give --input, e.g. --input "
      "28x28x1",
      config.data.name);
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
      [&](const Layer& layer, const std::string& name, const Signal& in) {
        int64_t count = 0;
        for (const ParameterSpec& p : layer.parameters(in)) count += p.stored.elements();
        rows.push_back({name, layer.text(), layer.output(in).shape.text(), count, layer.flops(in)});
      });
  return rows;
}

std::string summary(const RunConfig& config, const Network& network) {
  std::vector<std::vector<std::string>> rows = {{"layer", "", "output", "parameters", "flops"}};
  rows.push_back({"input", "", network.input().text(), "0", "0"});
  for (const LayerRow& row : layer_rows(network))
    rows.push_back(
        {row.name, row.text, row.output, with_commas(row.parameters), short_count(row.flops)});
  rows.push_back(
      {"total", "", "", with_commas(network.parameter_count()), short_count(network.flops())});
  return fmt::format(
      "{}: {}\n\n{}\nflops: forward, one sample. Training: {}, batch {}, {} epochs, {} {}\n",
      config.name, config.description, table(rows), config.data.name,
      config.train.batch == 0 ? "full" : std::to_string(config.train.batch), config.train.epochs,
      config.optimizer.name, config.optimizer.lr);
}

nlohmann::ordered_json to_json(const RunConfig& config, const Network& network) {
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (const LayerRow& row : layer_rows(network))
    layers.push_back({{"name", row.name},
                      {"layer", row.text},
                      {"output", row.output},
                      {"parameters", row.parameters},
                      {"flops", row.flops}});
  return {{"name", config.name},
          {"description", config.description},
          {"input", network.input().text()},
          {"layers", layers},
          {"parameters", network.parameter_count()},
          {"flops", network.flops()}};
}

void models(const Options& options) {
  if (!options.config.empty()) {
    const RunConfig config = find_config(options.config, options.changes);
    const Network network(config.model.layers, input_shape(config, options.input));
    fmt::print("{}",
               options.json ? to_json(config, network).dump(2) + "\n" : summary(config, network));
    return;
  }
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  std::vector<std::vector<std::string>> rows = {{"preset", "parameters", "flops", "description"}};
  for (const Preset& preset : presets()) {
    const RunConfig config = find_config(preset.name, {});
    const Network network(config.model.layers, input_shape(config, ""));
    rows.push_back({preset.name, with_commas(network.parameter_count()),
                    short_count(network.flops()), config.description});
    all.push_back(to_json(config, network));
    if (!options.json) fmt::print("{}\n", summary(config, network));
  }
  fmt::print("{}", options.json ? all.dump(2) + "\n" : table(rows));
}

}  // namespace

void add_models_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("models", R"(List the presets, or the layers of one.

Examples:
  lockstep models
  lockstep models cnn-690k
  lockstep models my.toml --input 32x32x3 --json
)");
  verb->add_option("config", options->config, "a preset or a TOML file");
  verb->add_option("--set", options->changes, "change a key of the configuration: key=value")
      ->type_name("KEY=VALUE");
  verb->add_option("--input", options->input, "shape of a sample, where it is not known");
  verb->add_flag("--json", options->json, "print JSON instead of a table");
  verb->callback([options] { models(*options); });
}

}  // namespace lockstep
