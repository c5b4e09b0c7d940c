#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/error.h"
#include "config/presets.h"
#include "data/say.h"
#include "job/interrupt.h"
#include "job/training.h"
#include "progress.h"
#include "rank_options.h"
#include "train/record/run_folder.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

struct Options {
  std::string config;
  std::vector<std::string> changes;
  std::string out, resume, baseline;
  int threads = 0;
  std::string until;
  RankOptions ranks;
  bool json = false, quiet = false, trace = false, force = false;
};

void train(const Options& options) {
  const bool resumes = !options.resume.empty();
  if (resumes == !options.config.empty())
    throw UserError(
        "name what to train, or a run to resume: lockstep train cnn-690k, or lockstep train "
        "--resume runs/cnn-690k");
  if (resumes && !options.out.empty())
    throw UserError("--resume continues in the run's own folder; leave out --out");
  TrainOptions how{.out = options.out,
                   .resume = options.resume,
                   .force = options.force,
                   .trace = options.trace,
                   .show_binding = !options.quiet};
  if (!options.baseline.empty()) how.baseline = read_baseline(options.baseline);
  RunConfig config = find_config(resumes ? options.resume : options.config, options.changes);
  if (options.threads > 0) config.device.threads = options.threads;
  if (!options.until.empty()) config.train.until = options.until;
  apply(options.ranks, config);
  const WallClock clock;
  Progress progress(clock, options.quiet);
  how.observer = &progress;
  how.say = say_to_stderr;
  const InterruptGuard interrupt;
  how.stop = &interrupt.flag();
  const std::optional<TrainedRun> trained = lockstep::train(config, how);
  if (!trained) return;  // rank 0 is in another process, which prints the summary
  if (options.json)
    fmt::print("{}", summary_json(trained->summary));
  else
    fmt::print("{}", summary_table(trained->summary, trained->folder.string()));
  if (!trained->resume_command.empty() && !options.json)
    fmt::print("resume with: {}\n", trained->resume_command);
}

}  // namespace

void add_train_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("train", R"(Train a network.

Examples:
  lockstep train cnn-690k
  lockstep train simple-cnn --set train.epochs=3 --set data.name=fashion-mnist --out runs/try1
  lockstep train my.toml --threads 2 --json
  lockstep train cnn-690k --ranks 4 --affinity compact
  lockstep train cnn-690k --ranks 2 --until accuracy=0.98
  lockstep train cnn-690k --ranks 4 --set parallel.strategy=average-weights
  lockstep train --resume runs/cnn-690k
)");
  verb->add_option("config", options->config,
                   "a preset (lockstep models), a TOML file, or a run folder");
  verb->add_option("--set", options->changes, "change a key of the configuration: key=value")
      ->type_name("KEY=VALUE");
  verb->add_option("--out", options->out,
                   "folder for the run (default: a new one, runs/<name>, runs/<name>-2, ...)");
  verb->add_flag("--force", options->force, "replace the run in --out");
  verb->add_option("--threads", options->threads, "same as --set device.threads=N")
      ->check(CLI::Range(1, 1024));
  verb->add_option("--until", options->until,
                   "stop when this is reached, and state the time it took: accuracy=0.98, loss=0.1")
      ->type_name("METRIC=VALUE");
  add_rank_options(*verb, options->ranks);
  verb->add_option("--resume", options->resume, "resume this run from its newest checkpoint");
  verb->add_option("--baseline", options->baseline,
                   "a finished run of one rank, to report speed-up and efficiency against");
  verb->add_flag("--trace", options->trace,
                 "write trace.json, a timeline of all ranks (open it at ui.perfetto.dev)");
  verb->add_flag("--json", options->json, "print summary.json instead of a table");
  verb->add_flag("--quiet", options->quiet, "no progress");
  verb->callback([options] { train(*options); });
}

}  // namespace lockstep
