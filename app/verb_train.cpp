#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "interrupt.h"
#include "presets.h"
#include "progress.h"
#include "ranks.h"
#include "train/recommender.h"
#include "train/run_folder.h"
#include "train/trace_file.h"
#include "train/trainer.h"
#include "verbs.h"

namespace lockstep {
namespace {

struct Options {
  std::string config;
  std::vector<std::string> changes;
  std::string out, resume, baseline;
  int threads = 0;
  RankOptions ranks;
  bool json = false, quiet = false, trace = false;
};

// What one rank does. Rank 0 alone writes files and speaks.
void train_rank(const RunConfig& config, const Options& options, const fs::path& path,
                double baseline_rate, SharedData& shared, const std::atomic<bool>& stop,
                Communicator& ranks) {
  const bool first = ranks.rank() == 0;
  const WallClock clock;
  const std::string map = bind_rank(config, ranks);
  const double start = clock.seconds();
  const DataSplits& data = shared.get(config, ranks);
  expect_agreement(config, data, ranks);
  const std::unique_ptr<Device> device = make_device(config.device);
  Observers observers;
  Trainer trainer(config, ranks, *device, clock, data, observers);
  trainer.keep_checkpoints_in(path / "checkpoints");
  if (!options.resume.empty()) trainer.resume(path / "checkpoints");

  Trace trace;
  if (options.trace) trainer.record(trace);

  // After all that can be wrong with the configuration.
  std::unique_ptr<RunFolder> folder;
  Progress progress(clock, options.quiet);
  if (first) {
    folder = std::make_unique<RunFolder>(path, config, trainer.steps_done());
    observers.add(*folder);
    observers.add(progress);
    if (!options.quiet && !map.empty()) fmt::print(stderr, "{}", map);
  }
  const auto save = [&] {
    if (first) folder->save(trainer.parameters(), trainer.network(), data);
  };
  Summary summary;
  try {
    summary = trainer.run(stop);
  } catch (const Diverged&) {
    save();
    if (first) folder->finish();
    if (trainer.in_step()) ranks.barrier().wait();  // all are here, and wait for rank 0's files
    throw;
  }
  if (!options.baseline.empty() && summary.parallel) {
    summary.parallel->speed_up = summary.samples_per_second / baseline_rate;
    summary.parallel->efficiency =
        summary.parallel->speed_up / static_cast<double>(summary.parallel->ranks);
  }
  if (const PostDataset* posts = posts_of(*data.train); posts && first)
    summary.figures =
        recommendation_figures(*posts, trainer.network(), trainer.parameters(), *device, 10);
  summary.read_seconds = shared.read_seconds();
  summary.total_seconds = clock.seconds() - start;
  save();
  observers.run_ended(summary);
  if (options.trace) write_trace(path / "trace.json", trace, ranks, clock);
  if (!first) return;
  if (options.json)
    fmt::print("{}", summary_json(summary));
  else
    fmt::print("{}", summary_table(summary, path.string()));
}

void train(const Options& options) {
  const bool resumes = !options.resume.empty();
  if (resumes == !options.config.empty())
    throw UserError(
        "name what to train, or a run to go on with: lockstep train cnn-690k, or lockstep train "
        "--resume runs/cnn-690k");
  if (resumes && !options.out.empty())
    throw UserError("--resume goes on in the run's own folder; leave --out out");
  const double baseline_rate = options.baseline.empty() ? 0 : one_rank_rate(options.baseline);
  RunConfig config = find_config(resumes ? options.resume : options.config, options.changes);
  if (options.threads > 0) config.device.threads = options.threads;
  apply(options.ranks, config);
  const fs::path path = resumes               ? fs::path(options.resume)
                        : options.out.empty() ? fs::path("runs") / config.name
                                              : fs::path(options.out);
  SharedData shared;
  const InterruptGuard interrupt;
  run_ranks(config, [&](Communicator& ranks) {
    train_rank(config, options, path, baseline_rate, shared, interrupt.flag(), ranks);
  });
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
  lockstep train cnn-690k --ranks 4 --set parallel.strategy=average-weights
  lockstep train --resume runs/cnn-690k
)");
  verb->add_option("config", options->config,
                   "a preset (lockstep models), a TOML file, or a run folder");
  verb->add_option("--set", options->changes, "change a key of the configuration: key=value")
      ->type_name("KEY=VALUE");
  verb->add_option("--out", options->out, "folder for the run (default: runs/<name>)");
  verb->add_option("--threads", options->threads, "same as --set device.threads=N")
      ->check(CLI::Range(1, 1024));
  add_rank_options(*verb, options->ranks);
  verb->add_option("--resume", options->resume, "go on with this run where its checkpoint is");
  verb->add_option("--baseline", options->baseline,
                   "a run of one rank: speed-up and efficiency against it are reported");
  verb->add_flag("--trace", options->trace,
                 "write trace.json: what each rank did when (open it at ui.perfetto.dev)");
  verb->add_flag("--json", options->json, "print summary.json instead of a table");
  verb->add_flag("--quiet", options->quiet, "no progress");
  verb->callback([options] { train(*options); });
}

}  // namespace lockstep
