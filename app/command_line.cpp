#include "command_line.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "base/nearest.h"
#include "train/versions.h"
#include "verb_data.h"
#include "verbs.h"

namespace lockstep {
namespace {

constexpr const char* examples =
    R"(Trains neural networks in parallel and predicts how that training scales.

Examples:
  lockstep train cnn-690k                          train a preset
  lockstep train my.toml --set train.epochs=3      train your own, with a change
  lockstep eval runs/cnn-690k                      test a trained network
  lockstep predict runs/cnn-690k digit.png         what is in this picture?
  lockstep models                                  presets and what they are made of
  lockstep data show mnist 0..24                   look at the data
  lockstep bench cnn-690k --threads 2              how fast does this machine train?
)";

// Examples come first, then options and verbs.
class Help final : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    return "\nUsage: " + CLI::Formatter::make_usage(app, std::move(name)).substr(7);
  }
};

void complain(const char* text) { fmt::print(stderr, "lockstep: {}\n", text); }

// CLI11 says that words were left over; the reader wants to know what was meant.
void explain_unknown(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  complain(error.what());
  const CLI::App* at = &app;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    std::vector<std::string> known;
    if (word.starts_with("--")) {
      for (const CLI::Option* option : at->get_options())
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    } else {
      for (const CLI::App* verb : at->get_subcommands({})) known.push_back(verb->get_name());
    }
    const std::string bare = word.substr(0, word.find('='));
    if (std::find(known.begin(), known.end(), bare) != known.end()) {
      if (!word.starts_with("--")) at = at->get_subcommand(word);
      continue;
    }
    const std::string close = nearest(bare, known);
    if (!close.empty() && (word.starts_with("--") || at == &app)) {
      fmt::print(stderr, "Did you mean '{}'?\n", close);
      return;
    }
  }
  fmt::print(stderr, "Try '{}--help'.\n",
             at == &app ? "lockstep " : "lockstep " + at->get_name() + " ");
}

}  // namespace

void add_verbs(CLI::App& app) {
  app.description(examples);
  app.formatter(std::make_shared<Help>());
  app.set_version_flag("--version", [] { return versions_text(); });
  app.require_subcommand(1);
  add_train_verb(app);
  add_eval_verb(app);
  add_predict_verb(app);
  add_models_verb(app);
  add_data_verb(app);
  add_bench_verb(app);
  add_config_verb(app);
  add_completion_verb(app);
}

int run_command_line(int argc, char** argv) {
  CLI::App app("", "lockstep");
  try {
    add_verbs(app);
    app.parse(argc, argv);
    if (std::fflush(stdout) != 0) throw Failure("cannot write to standard output");
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    explain_unknown(app, error, argc, argv);
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
