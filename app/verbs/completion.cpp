#include <fmt/format.h>

#include <memory>

#include "config/presets.h"
#include "config/run_config.h"
#include "config/settings.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

// The words to complete: verbs, then a verb's options, presets and keys. They are taken from the
// command line's definition and are the same for all shells.
struct Completions {
  std::vector<std::string> verbs, presets, keys;
  std::vector<std::pair<std::string, std::string>> options;  // verb, its options

  explicit Completions(const CLI::App& app) {
    for (const CLI::App* verb : app.get_subcommands({})) {
      verbs.push_back(verb->get_name());
      std::string all;
      for (const CLI::Option* option : verb->get_options())
        for (const std::string& name : option->get_lnames()) all += "--" + name + " ";
      for (const CLI::App* inner : verb->get_subcommands({})) all += inner->get_name() + " ";
      options.emplace_back(verb->get_name(), all);
    }
    for (const Preset& preset : lockstep::presets()) presets.push_back(preset.name);
    for (const Setting& setting : settings()) keys.push_back(setting.key + "=");
  }
};

void bash(const Completions& words) {
  fmt::print(R"(# bash completion: source <(lockstep completion bash)
_lockstep() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} options=""
  if [ "$COMP_CWORD" = 1 ]; then COMPREPLY=($(compgen -W "{}" -- "$word")); return; fi
  case "$before" in
    --set) compopt -o nospace; COMPREPLY=($(compgen -W "{}" -- "$word")); return ;;
    --out|--from) COMPREPLY=($(compgen -d -- "$word")); return ;;
  esac
  case "${{COMP_WORDS[1]}}" in
)",
             fmt::join(words.verbs, " "), fmt::join(words.keys, " "));
  for (const auto& [verb, options] : words.options)
    fmt::print("    {}) options=\"{}\" ;;\n", verb, options);
  fmt::print(R"(  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(compgen -W "{} $options" -- "$word") $(compgen -f -- "$word")) ;;
  esac
}}
complete -F _lockstep lockstep
)",
             fmt::join(words.presets, " "));
}

void zsh(const Completions& words) {
  fmt::print(
      "#compdef lockstep\n# zsh completion: source <(lockstep completion zsh)\n"
      "autoload -U +X bashcompinit && bashcompinit\n");
  bash(words);
}

void fish(const Completions& words) {
  fmt::print(
      "# fish completion: lockstep completion fish | source\n"
      "complete -c lockstep -n __fish_use_subcommand -f -a '{}'\n",
      fmt::join(words.verbs, " "));
  for (const auto& [verb, options] : words.options) {
    const std::string here = fmt::format("-n '__fish_seen_subcommand_from {}'", verb);
    fmt::print("complete -c lockstep {} -a '{}'\n", here, fmt::join(words.presets, " "));
    for (size_t at = 0; at < options.size();) {
      const size_t end = options.find(' ', at);
      const std::string word = options.substr(at, end - at);
      if (word.starts_with("--"))
        fmt::print("complete -c lockstep {} -l {}\n", here, word.substr(2));
      else
        fmt::print("complete -c lockstep {} -f -a {}\n", here, word);
      at = end + 1;
    }
  }
  fmt::print("complete -c lockstep -l set -x -a '{}'\n", fmt::join(words.keys, " "));
}

const std::map<std::string, void (*)(const Completions&)> shells = {
    {"bash", bash}, {"zsh", zsh}, {"fish", fish}};

}  // namespace

void add_completion_verb(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("completion", R"(Print completions for your shell.

Examples:
  source <(lockstep completion bash)
  lockstep completion fish > ~/.config/fish/completions/lockstep.fish
)");
  verb->add_option("shell", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember(shells));
  verb->callback([shell, &app] {
    const Completions words(app);
    shells.at (*shell)(words);
  });
}

}  // namespace lockstep
