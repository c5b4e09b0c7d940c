#include "command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/names.h"
#include "base/nearest.h"
#include "train/record/versions.h"
#include "verbs/data.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

constexpr const char* examples =
    R"(Trains neural networks in parallel and predicts how that training scales.

Examples:
  lockstep train cnn-690k                          train a preset
  lockstep train cnn-690k --ranks 4                train on four ranks
  lockstep train my.toml --set train.epochs=3      train your own network, with one change
  lockstep eval                                    evaluate the newest run (runs/latest)
  lockstep predict runs/cnn-690k digit.png         classify an image
  lockstep generate runs/gpt2-shakespeare --prompt ROMEO:    continue a text
  lockstep runs                                    list runs and their state
  lockstep models                                  list presets, or the layers of one
  lockstep data show mnist 0..24                   show images of a data set
  lockstep crossval mnist-cnn-sgd --ranks 4        cross-validate, four folds at a time
  lockstep study mpi-mnist-scaling --quick         repeat a published experiment
  lockstep report runs/* -o report.html            one page on many runs
  lockstep simulate cnn-690k --cluster 10gbe-8x16 --ranks 1,8,64   predict scaling
  lockstep explain runs/cnn-690k                   what limits its speed, what would help
  lockstep bench cnn-690k --threads 2              measure training throughput
  lockstep doctor                                  check this machine
)";

// Printed by 'lockstep' without arguments.
constexpr const char* short_help =
    R"(Trains neural networks in parallel and predicts how that training scales.

  lockstep train cnn-690k                 train a preset on one core
  lockstep train cnn-690k --ranks 2       on two MPI processes
  lockstep eval                           evaluate the newest run
  lockstep simulate cnn-690k --cluster 10gbe-8x16 --ranks 1,8,64
  lockstep models                         list the presets
  lockstep --help                         all verbs and more examples
)";

// Examples come first, then options and verbs.
class Help final : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    return "\nUsage: " + CLI::Formatter::make_usage(app, std::move(name)).substr(7);
  }
};

// Errors may quote files, so control characters are escaped before they reach the terminal.
void complain(const std::string& text) {
  std::string shown;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    shown += (at == 0 ? "" : "\n") + printable(text.substr(at, end - at));
    at = end + 1;
  }
  fmt::print(stderr, "lockstep: {}\n", shown);
}

std::vector<std::string> names_of_verbs(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands({})) names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> names_of_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// CLI11 only reports that words are left over; this names the wrong one and suggests the nearest.
void explain_mistake(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const CLI::App* at = &app;
  std::string path = "lockstep";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i], bare = word.substr(0, word.find('='));
    if (word.starts_with("--") && !contains(names_of_options(*at), bare)) {
      const std::string close = nearest(bare, names_of_options(*at));
      fmt::print(stderr, "lockstep: '{}' has no option {}{}\nTry '{} --help'.\n", path, bare,
                 close.empty() ? "" : fmt::format("; did you mean '{}'?", close), path);
      return;
    }
    const std::vector<std::string> verbs = names_of_verbs(*at);
    if (word.starts_with("-") || verbs.empty()) continue;
    if (!contains(verbs, word)) {
      fmt::print(stderr, "lockstep: '{}' has no verb '{}'; {}\n", path, word,
                 suggestion(word, verbs));
      return;
    }
    at = at->get_subcommand(word);
    path += " " + word;
  }
  fmt::print(stderr, "lockstep: {}\nTry '{} --help'.\n", error.what(), path);
}

}  // namespace

void add_verbs(CLI::App& app, const std::string& wanted) {
  app.description(examples);
  app.formatter(std::make_shared<Help>());
  app.set_version_flag("--version", [] { return versions_text(); });
  app.require_subcommand(1);
  const std::pair<const char*, void (*)(CLI::App&)> verbs[] = {
      {"train", add_train_verb},         {"crossval", add_crossval_verb},
      {"eval", add_eval_verb},           {"predict", add_predict_verb},
      {"generate", add_generate_verb},   {"tokenize", add_tokenize_verb},
      {"recommend", add_recommend_verb}, {"study", add_study_verb},
      {"report", add_report_verb},       {"runs", add_runs_verb},
      {"verify", add_verify_verb},       {"models", add_models_verb},
      {"data", add_data_verb},           {"bench", add_bench_verb},
      {"config", add_config_verb},       {"doctor", add_doctor_verb},
      {"calibrate", add_calibrate_verb}, {"cluster", add_cluster_verb},
      {"simulate", add_simulate_verb},   {"explain", add_explain_verb},
      {"sbatch", add_sbatch_verb},       {"completion", add_completion_verb}};
  const bool known = std::any_of(std::begin(verbs), std::end(verbs),
                                 [&](const auto& verb) { return verb.first == wanted; });
  // Adding the options of all verbs would take a fifth of the time of a short run. Only completions
  // need them all.
  for (const auto& [name, add] : verbs)
    if (!known || name == wanted || wanted == "completion") add(app);
}

int run_command_line(int argc, char** argv) {
  CLI::App app("", "lockstep");
  if (argc < 2) {
    fmt::print("{}", short_help);
    return 0;
  }
  try {
    add_verbs(app, argc > 1 ? argv[1] : "");
    app.parse(argc, argv);
    if (std::fflush(stdout) != 0) throw Failure("cannot write to standard output");
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    explain_mistake(app, error, argc, argv);
    return 2;
  } catch (const UserError& error) {
    complain(error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    complain("out of memory; try a smaller train.batch");
    return 1;
  } catch (const std::exception& error) {
    complain(error.what());
    return 1;
  }
}

}  // namespace lockstep
