#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/error.h"
#include "comm/backend/mpi.h"
#include "config/presets.h"
#include "job/interrupt.h"
#include "job/ranks.h"
#include "rank_options.h"
#include "report/numbers.h"
#include "text.h"
#include "train/crossval/cross_validation.h"
#include "train/record/run_claim.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

struct Options {
  std::string config, out, resume;
  std::vector<std::string> changes;
  int64_t folds = 0, nodes = 0, groups = 0;
  int threads = 0;
  RankOptions ranks;
  bool json = false, quiet = false, force = false;
};

std::string summary_table(const CrossvalSummary& s, const std::string& folder) {
  std::vector<std::vector<std::string>> folds = {{"node", "fold", "loss", "accuracy", "time"}};
  for (const FoldResult& r : s.results)
    folds.push_back({std::to_string(r.task.node), std::to_string(r.task.fold),
                     fmt::format("{:.4f}", r.loss), percent(r.accuracy), short_time(r.seconds)});
  std::vector<std::vector<std::string>> rows = {
      {s.name, s.finished ? "finished" : "interrupted"},
      {"data", s.data},
      {"folds", fmt::format("{}{}", s.folds,
                            s.nodes > 1 ? fmt::format(" on each of {} nodes", s.nodes) : "")},
      {"ranks", fmt::format("{} in {}{}", s.ranks, plural(s.groups, "group"),
                            s.oversubscribed ? ", oversubscribed" : "")},
      {"ranks per fold", std::to_string(s.fold_ranks)},
      {"batch per rank / global", fmt::format("{} / {}", s.batch_per_rank, s.global_batch)},
      {"learning rate", fmt::format("{:.4g}", s.learning_rate)},
      {"accuracy of folds",
       fmt::format("{} ± {}", percent(s.accuracy.mean), percent(s.accuracy.deviation))},
      {"training accuracy of folds",
       fmt::format("{} ± {}", percent(s.train_accuracy.mean), percent(s.train_accuracy.deviation))},
      {"loss of folds", fmt::format("{:.4f} ± {:.4f}", s.loss.mean, s.loss.deviation)}};
  for (size_t n = 0; s.nodes > 1 && n < s.node_tests.size(); ++n)
    rows.push_back(
        {fmt::format("model of node {}, held-out part", n),
         fmt::format("{:.4f} / {}", s.node_tests[n].loss, percent(s.node_tests[n].accuracy))});
  if (s.test)
    rows.push_back({fmt::format("saved model ({}{}), held-out part", s.model,
                                s.nodes > 1 ? ", nodes: " + s.combine : ""),
                    fmt::format("{:.4f} / {}", s.test->loss, percent(s.test->accuracy))});
  rows.push_back({"total", short_time(s.total_seconds)});
  rows.push_back({"saved in", folder});
  return table(folds) + "\n" + table(rows);
}

void crossval(const Options& options) {
  const bool resumes = !options.resume.empty();
  if (resumes == !options.config.empty())
    throw UserError(
        "name what to cross-validate, or a cross-validation to resume: lockstep crossval "
        "mnist-cnn-sgd, or lockstep crossval --resume runs/mnist-cnn-sgd-crossval");
  if (resumes && !options.out.empty())
    throw UserError("--resume continues in its own folder; leave out --out");
  RunConfig config = find_config(resumes ? options.resume : options.config, options.changes);
  if (options.folds > 0) config.crossval.folds = options.folds;
  if (options.nodes > 0) config.crossval.nodes = options.nodes;
  if (options.groups > 0) config.crossval.groups = options.groups;
  if (options.threads > 0) config.device.threads = options.threads;
  apply(options.ranks, config);
  if (config.parallel.pipeline > 1)
    throw UserError(
        "cross-validation trains each fold on ranks that hold the whole network; "
        "parallel.pipeline = {} (--mesh) is not possible",
        config.parallel.pipeline);
  if (holds_parts(config))
    throw UserError(
        "a cross-validation needs all samples on every rank: use another parallel.strategy than "
        "\"{}\", or data.reading = \"all\"",
        config.parallel.strategy);
  if (!resumes && mpi_job_size() == 0) expect_free(options.out, options.force);
  SharedData shared;
  const InterruptGuard interrupt;
  run_ranks(config, [&](Communicator& ranks) {
    const WallClock clock;
    bind_rank(config, ranks);
    const DataSplits& data = shared.get(config, ranks, say_to_stderr);
    expect_agreement(config, data, ranks);
    std::optional<RunClaim> claim;  // rank 0 only
    if (ranks.rank() == 0)
      claim.emplace(resumes
                        ? RunClaim::for_resumed(options.resume)
                        : RunClaim::for_new(config.name + "-crossval", options.out, options.force));
    const fs::path path = gather_texts(ranks, claim ? claim->path().string() : "")[0];
    const double start = clock.seconds();
    const FoldDone say = [&](const FoldResult& r, const FoldProgress& p) {
      if (options.quiet) return;
      fmt::print(stderr, "{} ({} of {}): accuracy {}, {}; about {} left\n", r.task.name(), p.done,
                 p.all, percent(r.accuracy), short_time(r.seconds),
                 short_time(p.left(clock.seconds() - start)));
    };
    CrossvalSummary summary =
        cross_validate(config, ranks, data, clock, path, say, resumes, interrupt.flag());
    if (ranks.rank() != 0) return;
    summary.read_seconds = shared.read_seconds();
    write_file(path / "summary.json", summary_json(summary));
    fmt::print("{}", options.json ? summary_json(summary) : summary_table(summary, path.string()));
    if (!summary.finished && !options.json)
      fmt::print("resume with: {}\n", resume_command("crossval", path, ranks));
  });
}

}  // namespace

void add_crossval_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "crossval", R"(Cross-validate: train on all folds but one, test on that one, k times.

Examples:
  lockstep crossval iris-mlp --folds 5
  lockstep crossval mnist-cnn-sgd --folds 10 --ranks 4     four folds at a time
  lockstep crossval mnist-cnn-sgd --nodes 4 --ranks 4      data split over nodes, 10 folds on each
  lockstep crossval --resume runs/mnist-cnn-sgd-crossval   run the unfinished folds
)");
  verb->add_option("config", options->config, "a preset, a TOML file, or a run folder");
  verb->add_option("--folds", options->folds, "same as --set crossval.folds=N")
      ->check(CLI::Range(2, 100000));
  verb->add_option("--nodes", options->nodes, "same as --set crossval.nodes=N")
      ->check(CLI::Range(1, 100000));
  verb->add_option("--groups", options->groups, "same as --set crossval.groups=N")
      ->check(CLI::Range(1, 100000));
  verb->add_option("--set", options->changes, "change a key of the configuration: key=value")
      ->type_name("KEY=VALUE");
  verb->add_option("--out", options->out,
                   "folder (default: a new one, runs/<name>-crossval, -crossval-2, ...)");
  verb->add_flag("--force", options->force, "replace the run in --out");
  verb->add_option("--resume", options->resume,
                   "run the unfinished folds of this cross-validation");
  verb->add_option("--threads", options->threads, "same as --set device.threads=N")
      ->check(CLI::Range(1, 1024));
  add_rank_options(*verb, options->ranks);
  verb->add_flag("--json", options->json, "print summary.json instead of tables");
  verb->add_flag("--quiet", options->quiet, "no progress");
  verb->callback([options] { crossval(*options); });
}

}  // namespace lockstep
