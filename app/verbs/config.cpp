#include <fmt/format.h>

#include <memory>

#include "config/presets.h"
#include "config/settings.h"
#include "nn/registry.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

// Prints the content of docs/configuration.md.
void print_reference() {
  fmt::print(
      "# Configuration\n\n"
      "Made by `lockstep config --reference` from the schema in src/config/settings.cpp.\n\n"
      "A configuration is a TOML file; `--set key=value` changes any key for one run, and the "
      "fully\n"
      "resolved configuration is saved as config.toml in the run's folder. Unknown keys and values "
      "are\n"
      "errors.\n\n| key | default | meaning |\n|---|---|---|\n");
  for (const Setting& setting : settings()) {
    std::string meaning = setting.description;
    if (!setting.choices.empty()) meaning += fmt::format(" ({})", fmt::join(setting.choices, ", "));
    fmt::print("| `{}` | {} | {} |\n", setting.key, default_text(setting), meaning);
  }
  fmt::print(
      "\n## Layers\n\n`model.layers` is a list of lines, one per layer. Shapes are inferred from the "
      "data.\n"
      "ACTIVATION is one of relu, sigmoid, tanh, gelu, softmax; KERNEL, WINDOW, S and P are a "
      "number\n"
      "or HEIGHTxWIDTH.\n\n| line | what it does |\n|---|---|\n");
  for (const LayerForm& form : layer_forms()) {
    std::string usage = form.usage;
    for (size_t at = 0; (at = usage.find('|', at)) != std::string::npos; at += 2)
      usage.insert(at, "\\");
    fmt::print("| `{}` | {} |\n", usage, form.description);
  }
}

}  // namespace

void add_config_verb(CLI::App& app) {
  struct Options {
    std::string config;
    std::vector<std::string> changes;
    bool reference = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      app.add_subcommand("config", R"(Show a configuration with every key, ready to edit.

Examples:
  lockstep config cnn-690k > my.toml
  lockstep config --reference            every key, as Markdown
)");
  verb->add_option("config", options->config, "a preset or a TOML file");
  verb->add_option("--set", options->changes, "change a key of the configuration: key=value")
      ->type_name("KEY=VALUE");
  verb->add_flag("--reference", options->reference, "describe all keys and layers");
  verb->callback([options] {
    if (options->reference) return print_reference();
    RunConfig config;
    if (!options->config.empty()) config = find_config(options->config, {});
    for (const std::string& change : options->changes) set_keys(config, {parse_assignment(change)});
    fmt::print("{}", to_toml(config));
  });
}

}  // namespace lockstep
