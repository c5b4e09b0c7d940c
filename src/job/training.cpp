#include "job/training.h"

#include <future>

#include "base/error.h"
#include "comm/backend/mpi.h"
#include "data/sources/registry.h"
#include "job/ranks.h"
#include "os/digests.h"
#include "train/diagnosis.h"
#include "train/recommend/recommender.h"
#include "train/record/run_claim.h"
#include "train/record/run_folder.h"
#include "train/record/trace_file.h"
#include "train/trainer.h"

namespace lockstep {
namespace {

// Reports damaged checkpoints and missing digests.
void tell(const ResumedFrom& resumed, const Say& say) {
  for (const std::string& damage : resumed.damaged)
    say(fmt::format("skipped a damaged checkpoint: {}", damage));
  if (!resumed.has_digests)
    say("the checkpoint has no digests (written by lockstep 0.1.0): it was not checked for damage");
}

// With data.workers, the network is made while samples are loaded, if their shape is known. Nothing
// is made otherwise.
std::future<std::optional<InitialNetwork>> prepare_network(const RunConfig& config, Device& device,
                                                           const Communicator& ranks) {
  const bool is_possible = config.data.workers > 0 && find_source(config.data.name).shape;
  // An error is thrown by get(): one about the samples comes first.
  return std::async(
      is_possible ? std::launch::async | std::launch::deferred : std::launch::deferred,
      [&config, &device, &ranks, is_possible]() -> std::optional<InitialNetwork> {
        if (!is_possible) return std::nullopt;
        const Source& source = find_source(config.data.name);
        InitialNetwork made(config, source.shape(config.data), device, ranks.size(), ranks.rank());
        made.set_weights(config);
        return made;
      });
}

// One rank of a training run. Only rank 0 has a run folder and reports to the user.
class TrainingRank {
 public:
  TrainingRank(const RunConfig& config, const TrainOptions& options, SharedData& shared,
               Communicator& ranks)
      : config_(config),
        options_(options),
        shared_(shared),
        ranks_(ranks),
        first_(ranks.rank() == 0) {}

  // Returns rank 0's result; nullopt on other ranks.
  std::optional<TrainedRun> run();

 private:
  fs::path claim_folder();
  void open_folder(const fs::path& path, const std::optional<ResumedFrom>& resumed,
                   Trainer& trainer);

  const RunConfig& config_;
  const TrainOptions& options_;
  SharedData& shared_;
  Communicator& ranks_;
  const bool first_;
  const WallClock clock_;
  Observers observers_;
  std::optional<RunClaim> claim_;      // rank 0 only
  std::unique_ptr<RunFolder> folder_;  // rank 0 only
};

fs::path TrainingRank::claim_folder() {
  if (first_)
    claim_.emplace(options_.resume.empty()
                       ? RunClaim::for_new(config_.name, options_.out, options_.force)
                       : RunClaim::for_resumed(options_.resume));
  return gather_texts(ranks_, claim_ ? claim_->path().string() : "")[0];
}

void TrainingRank::open_folder(const fs::path& path, const std::optional<ResumedFrom>& resumed,
                               Trainer& trainer) {
  CheckpointPlace checkpoints{.folder = path / "checkpoints"};
  if (first_) {
    if (resumed) tell(*resumed, options_.say);
    const fs::path from = config_.model.from;
    if (!from.empty() && !fs::exists(digests_path(from)))
      options_.say(fmt::format("{} has no digests.txt: its files were not checked for damage",
                               from.string()));
    folder_ = std::make_unique<RunFolder>(path, config_, resumed);
    checkpoints.run = folder_->run();
    checkpoints.flush_metrics = [this] { return folder_->flush_metrics(); };
    observers_.add(*folder_);
    if (options_.observer) observers_.add(*options_.observer);
  }
  trainer.keep_checkpoints_in(std::move(checkpoints));
}

std::optional<TrainedRun> TrainingRank::run() {
  static const std::atomic<bool> never{false};
  const std::string map = bind_rank(config_, ranks_);
  const double start = clock_.seconds();
  const std::unique_ptr<Device> device = make_device(config_.device);
  std::future<std::optional<InitialNetwork>> network = prepare_network(config_, *device, ranks_);
  const DataSplits& data = shared_.get(config_, ranks_, options_.say);
  expect_agreement(config_, data, ranks_);
  Trainer trainer(config_, ranks_, *device, clock_, data, observers_, network.get());
  Trace trace;
  if (options_.trace) trainer.record(trace);

  // Claimed last: a wrong configuration leaves no folder behind.
  const fs::path path = claim_folder();
  std::optional<ResumedFrom> resumed;
  if (!options_.resume.empty()) resumed = trainer.resume(path / "checkpoints");
  // A run that was killed before it wrote its summary still has to save its model.
  if (resumed && (resumed->has_all_epochs || is_finished(path, config_)) &&
      fs::exists(path / "summary.json"))
    throw UserError("{} is finished: all its epochs are done; set train.epochs higher to continue",
                    path.string());
  open_folder(path, resumed, trainer);
  if (first_ && options_.show_binding && !map.empty()) options_.say(map);
  std::optional<Parameters> collected;  // where stages of the network are on several ranks
  const auto whole = [&]() -> const Parameters& {
    return collected ? *collected : trainer.parameters();
  };
  const auto save = [&] {
    collected = trainer.collect();
    if (first_) folder_->save(whole(), trainer.network(), data);
  };
  Summary summary;
  try {
    summary = trainer.run(options_.stop ? *options_.stop : never);
  } catch (const Diverged&) {
    save();
    if (first_) folder_->finish();
    if (trainer.in_step()) ranks_.barrier().wait();  // all ranks diverged; wait for rank 0's files
    throw;
  }
  if (options_.baseline && summary.parallel)
    compare(*summary.parallel, *options_.baseline, summary.samples_per_second);
  save();
  if (const PostDataset* posts = posts_of(*data.train); posts && first_)
    summary.figures = recommendation_figures(*posts, trainer.network(), whole(), *device, 10);
  summary.read_seconds = shared_.read_seconds();
  summary.total_seconds = clock_.seconds() - start;
  observers_.run_ended(summary);
  if (options_.trace) write_trace(path / "trace.json", trace, ranks_, clock_);
  if (!first_) return std::nullopt;
  TrainedRun trained{.summary = summary, .folder = path, .resume_command = {}};
  if (summary.ending == Ending::interrupted)
    trained.resume_command = resume_command("train", path, ranks_);
  return trained;
}

}  // namespace

std::optional<TrainedRun> train(RunConfig config, const TrainOptions& options) {
  settle_ranks(config);
  if (options.resume.empty() && mpi_job_size() == 0) expect_free(options.out, options.force);
  SharedData shared;
  std::optional<TrainedRun> result;
  run_ranks(config, [&](Communicator& ranks) {
    std::optional<TrainedRun> mine = TrainingRank(config, options, shared, ranks).run();
    if (ranks.rank() == 0) result = std::move(mine);
  });
  return result;
}

}  // namespace lockstep
