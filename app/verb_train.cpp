#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/digests.h"
#include "base/error.h"
#include "comm/backend/mpi.h"
#include "interrupt.h"
#include "presets.h"
#include "progress.h"
#include "ranks.h"
#include "saved_data.h"
#include "train/diagnosis.h"
#include "train/recommender.h"
#include "train/run_claim.h"
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
  bool json = false, quiet = false, trace = false, force = false;
};

// What is worth knowing of the checkpoint that a run goes on from.
void tell(const ResumedFrom& resumed) {
  for (const std::string& damage : resumed.damaged)
    fmt::print(stderr, "lockstep: passed over a checkpoint: {}\n", damage);
  if (!resumed.has_digests)
    fmt::print(stderr,
               "lockstep: the checkpoint has no digests (written by lockstep 0.1.0): it "
               "was not checked for damage\n");
}

// What one rank does. Rank 0 alone writes files and speaks.
void train_rank(const RunConfig& config, const Options& options, const Baseline* baseline,
                SharedData& shared, const std::atomic<bool>& stop, Communicator& ranks) {
  const bool first = ranks.rank() == 0;
  const WallClock clock;
  const std::string map = bind_rank(config, ranks);
  const double start = clock.seconds();
  const DataSplits& data = shared.get(config, ranks);
  expect_agreement(config, data, ranks);
  const std::unique_ptr<Device> device = make_device(config.device);
  Observers observers;
  Trainer trainer(config, ranks, *device, clock, data, observers);

  Trace trace;
  if (options.trace) trainer.record(trace);

  // After all that can be wrong with the configuration.
  const bool resumes = !options.resume.empty();
  std::optional<RunClaim> claim;  // rank 0's
  if (first)
    claim.emplace(resumes ? RunClaim::for_resumed(options.resume)
                          : RunClaim::for_new(config.name, options.out, options.force));
  const fs::path path = gather_texts(ranks, claim ? claim->path().string() : "")[0];
  std::optional<ResumedFrom> resumed;
  if (resumes) resumed = trainer.resume(path / "checkpoints");
  // Killed before it had a summary, a run still needs its model.
  if (resumed && resumed->has_all_epochs && fs::exists(path / "summary.json"))
    throw UserError("{} is finished: all its epochs are done; set train.epochs higher to go on",
                    path.string());
  std::unique_ptr<RunFolder> folder;
  Progress progress(clock, options.quiet);
  CheckpointPlace checkpoints{.folder = path / "checkpoints"};
  if (first) {
    if (resumed) tell(*resumed);
    if (const fs::path from = config.model.from; !from.empty() && !fs::exists(digests_path(from)))
      note_unchecked(from);
    folder = std::make_unique<RunFolder>(path, config, resumed);
    checkpoints.run = folder->run();
    checkpoints.flush_metrics = [&] { return folder->flush_metrics(); };
    observers.add(*folder);
    observers.add(progress);
    if (!options.quiet && !map.empty()) fmt::print(stderr, "{}", map);
  }
  trainer.keep_checkpoints_in(std::move(checkpoints));
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
  if (baseline && summary.parallel)
    compare(*summary.parallel, *baseline, summary.samples_per_second);
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
  if (summary.ending == Ending::interrupted && !options.json)
    fmt::print("go on with: {}\n", resume_command("train", path, ranks));
}

void train(const Options& options) {
  const bool resumes = !options.resume.empty();
  if (resumes == !options.config.empty())
    throw UserError(
        "name what to train, or a run to go on with: lockstep train cnn-690k, or lockstep train "
        "--resume runs/cnn-690k");
  if (resumes && !options.out.empty())
    throw UserError("--resume goes on in the run's own folder; leave --out out");
  std::optional<Baseline> baseline;
  if (!options.baseline.empty()) baseline = read_baseline(options.baseline);
  RunConfig config = find_config(resumes ? options.resume : options.config, options.changes);
  if (options.threads > 0) config.device.threads = options.threads;
  apply(options.ranks, config);
  if (!resumes && mpi_job_size() == 0) expect_free(options.out, options.force);
  SharedData shared;
  const InterruptGuard interrupt;
  run_ranks(config, [&](Communicator& ranks) {
    train_rank(config, options, baseline ? &*baseline : nullptr, shared, interrupt.flag(), ranks);
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
  verb->add_option("--out", options->out,
                   "folder for the run (default: a new one, runs/<name>, runs/<name>-2, ...)");
  verb->add_flag("--force", options->force, "replace the run that --out holds");
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
