#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "interrupt.h"
#include "presets.h"
#include "progress.h"
#include "train/run_folder.h"
#include "train/trainer.h"
#include "verbs.h"

namespace lockstep {
namespace {

struct Options {
  std::string config;
  std::vector<std::string> changes;
  std::string out;
  int threads = 0;
  bool json = false, quiet = false;
};

void train(const Options& options) {
  RunConfig config = find_config(options.config, options.changes);
  if (options.threads > 0) config.device.threads = options.threads;
  const fs::path path =
      options.out.empty() ? fs::path("runs") / config.name : fs::path(options.out);

  const WallClock clock;
  const double start = clock.seconds();
  const DataSplits data = load_data(config.data, static_cast<uint64_t>(config.seed));
  const double read_seconds = clock.seconds() - start;
  const std::unique_ptr<Device> device = make_device(config.device);
  Progress progress(clock, options.quiet);
  Observers observers;
  Trainer trainer(config, *device, clock, data, observers);
  RunFolder folder(path, config);  // after all that can be wrong with the configuration
  observers.add(folder);
  observers.add(progress);

  const auto save = [&] {
    folder.save(trainer.parameters(), trainer.network(), data.train->classes(), data.normalizer);
  };
  Summary summary;
  {
    const InterruptGuard interrupt;
    try {
      summary = trainer.run(interrupt.flag());
    } catch (const Diverged&) {
      save();
      folder.finish();
      throw;
    }
  }
  summary.read_seconds = read_seconds;
  summary.total_seconds = clock.seconds() - start;
  save();
  observers.run_ended(summary);
  if (options.json)
    fmt::print("{}", summary_json(summary));
  else
    fmt::print("{}", summary_table(summary, path.string()));
}

}  // namespace

void add_train_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("train", R"(Train a network.

Examples:
  lockstep train cnn-690k
  lockstep train simple-cnn --set train.epochs=3 --set data.name=fashion-mnist --out runs/try1
  lockstep train my.toml --threads 2 --json
)");
  verb->add_option("config", options->config,
                   "a preset (lockstep models), a TOML file, or a run folder")
      ->required();
  verb->add_option("--set", options->changes, "change a key of the configuration: key=value")
      ->type_name("KEY=VALUE");
  verb->add_option("--out", options->out, "folder for the run (default: runs/<name>)");
  verb->add_option("--threads", options->threads, "same as --set device.threads=N")
      ->check(CLI::Range(1, 1024));
  verb->add_flag("--json", options->json, "print summary.json instead of a table");
  verb->add_flag("--quiet", options->quiet, "no progress");
  verb->callback([options] { train(*options); });
}

}  // namespace lockstep
