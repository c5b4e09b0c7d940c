#include "train/step_probe.h"

#include <algorithm>
#include <utility>

#include "train/batch_input.h"
#include "train/epoch_feed.h"

namespace lockstep {

// The held batches over and over, cut to what a step needs. Ranks begin with different ones: with
// sparse inputs they touch different rows.
class StepProbe::Source final : public BatchSource {
 public:
  Source(const Held& held, StepShare share, int rank)
      : held_(held), share_(std::move(share)), next_(static_cast<size_t>(rank)) {}

  void set_steps(int64_t steps) { steps_ = steps; }
  int64_t steps() const override { return steps_; }
  const StepShare& share(int64_t) const override { return share_; }
  Piece next() override {
    if (left_ == 0) left_ = share_.shards[shard_++ % share_.shards.size()];
    const Batch& batch = held_.batches[next_++ % held_.batches.size()];
    const int64_t rows = std::min(held_.piece, left_);
    left_ -= rows;
    if (load) load(rows);
    return {.rows = rows,
            .input = input_of(batch),
            .targets = targets_of(batch),
            .keys = {.seed = 1, .epoch = 1, .ids = batch.ids}};
  }

  Load load;

 private:
  const Held& held_;
  StepShare share_;
  int64_t steps_ = 0, left_ = 0;
  size_t next_, shard_ = 0;
};

namespace {

StepShare share_of(const RunConfig& config, int64_t all, int training, int rank) {
  StepShare share{.mine = 0, .all = all, .shards = {}};
  if (rank >= training) return share;
  const int64_t shards = config.parallel.mode == "reproducible" ? config.parallel.shards : training;
  for (int64_t s = shards * rank / training; s < shards * (rank + 1) / training; ++s) {
    share.shards.push_back(part_of(all, shards, s).size());
    share.mine += share.shards.back();
  }
  return share;
}

}  // namespace

StepProbe::StepProbe(const RunConfig& config, const Held& held, int64_t all, Communicator& ranks,
                     Device& device, const Clock& clock)
    : config_(config),
      clock_(clock),
      strategy_(make_strategy(config.parallel, config.optimizer)),
      training_(strategy_->training_ranks(ranks.size())),
      network_(config.model.layers, held.shape),
      parameters_(network_),
      program_(network_, loss_named(config.train.loss), device, held.piece, held.sparse),
      optimizer_(config.optimizer, device, parameters_.weights().size()),
      worker_{ranks,  device, clock, program_, parameters_, optimizer_, config.train.clip_norm,
              nullptr},
      source_(std::make_unique<Source>(held, share_of(config, all, training_, ranks.rank()),
                                       ranks.rank())) {
  network_.expect_outputs(held.classes, held.provenance);
  if (held.sparse) parameters_.expect_sparse_inputs();
}

StepProbe::~StepProbe() = default;

void StepProbe::initialise() {
  parameters_.initialise(init_named(config_.model.init), static_cast<uint64_t>(config_.seed));
}

const StepShare& StepProbe::share() const { return source_->share(0); }

void StepProbe::load_by(Load load) { source_->load = std::move(load); }

void StepProbe::step_done(const StepResult& result) {
  const double now = clock_.seconds();
  seconds_.push_back(now - last_);
  last_ = now;
  times_ += result.times;
}

void StepProbe::run(int64_t steps) {
  if (!std::exchange(prepared_, true)) strategy_->prepare(worker_);
  seconds_.clear();
  times_ = {};
  source_->set_steps(steps);
  last_ = clock_.seconds();
  strategy_->train_epoch(worker_, *source_, *this, 0);
}

int64_t rows_of_all(const RunConfig& config, int64_t samples, int64_t training_ranks) {
  return std::min(samples, global_batch(config, samples, training_ranks));
}

}  // namespace lockstep
