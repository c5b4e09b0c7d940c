#include "train/probe/step_probe.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "train/batch_input.h"
#include "train/shares.h"

namespace lockstep {

// Cycles through the held batches, cut to the rows of a step. Ranks begin with different batches,
// so that with sparse inputs they touch different rows.
class StepProbe::Source final : public BatchSource {
 public:
  Source(const HeldBatches& held, StepShare share, int rank)
      : held_(held), share_(std::move(share)), next_(static_cast<size_t>(rank)) {}

  void set_steps(int64_t steps) { steps_ = steps; }
  int64_t steps() const override { return steps_; }
  const StepShare& share(int64_t) const override { return share_; }
  MicroBatch next() override {
    if (left_ == 0) {
      if (shard_ % share_.shards.size() == 0) first_ = next_;
      left_ = share_.shards[shard_++ % share_.shards.size()];
    }
    const Batch& batch = held_.batches[next_++ % held_.batches.size()];
    const int64_t rows = std::min(held_.micro_batch, left_);
    left_ -= rows;
    if (before) before(rows);
    return {.rows = rows,
            .input = input_of(batch),
            .targets = targets_of(batch),
            .keys = {.seed = 1, .epoch = 1, .ids = batch.ids}};
  }

  void repeat(int64_t) override { left_ = 0, shard_ = 0, next_ = first_; }
  void choose(int64_t, int64_t shard) override { left_ = 0, shard_ = static_cast<size_t>(shard); }

  BeforeMicroBatch before;

 private:
  const HeldBatches& held_;
  StepShare share_;
  int64_t steps_ = 0, left_ = 0;
  size_t next_, shard_ = 0;  // batch, shard
  size_t first_ = 0;         // batch of the step
};

namespace {

StepShare share_of(const RunConfig& config, int64_t all, const Replica& replica, int rank) {
  StepShare share{.all = all};
  if (!replica.trains()) return share;
  share.shards = shard_rows(config, all, replica.training_ranks, rank);
  share.mine = std::accumulate(share.shards.begin(), share.shards.end(), int64_t{0});
  return share;
}

// With the largest shard of the ranks, as in training.
StepForm step_form(const RunConfig& config, const HeldBatches& held, int64_t all,
                   const Communicator& ranks) {
  const int training = training_replicas(config.parallel, ranks.size());
  const int64_t largest = std::max<int64_t>(1, largest_shard_rows(config, all, training));
  return {held.micro_batch, (largest + held.micro_batch - 1) / held.micro_batch};
}

}  // namespace

StepProbe::StepProbe(const RunConfig& config, const HeldBatches& held, int64_t all,
                     Communicator& ranks, Device& device, const Clock& clock)
    : config_(config),
      clock_(clock),
      replica_(config, ranks, device, clock, held.form(), step_form(config, held, all, ranks),
               InitialNetwork(config, held.shape, device, ranks.size(), ranks.rank())),
      source_(std::make_unique<Source>(held, share_of(config, all, replica_, ranks.rank()),
                                       ranks.rank())) {
  replica_.worker.checks_numbers = false;  // steps on a few batches may diverge; only time matters
}

StepProbe::~StepProbe() = default;

void StepProbe::initialise() {
  replica_.parameters.initialise(config_.model.init, static_cast<uint64_t>(config_.seed));
}

const StepShare& StepProbe::share() const { return source_->share(0); }

void StepProbe::before_micro_batch(BeforeMicroBatch call) { source_->before = std::move(call); }

void StepProbe::run(int64_t steps) {
  Strategy& strategy = *replica_.strategy;
  Worker& worker = replica_.worker;
  replica_.prepare();
  seconds_.clear();
  times_ = {};
  source_->set_steps(steps);
  if (!replica_.trains()) strategy.serve(worker);
  const int64_t updates = !replica_.trains() ? 0 : traits().one_update_per_epoch ? 1 : steps;
  double last = clock_.seconds();
  for (int64_t step = 0; step < updates; ++step) {
    const StepResult result =
        strategy.step(worker, *source_, {.step = step, .learning_rate = config_.optimizer.lr});
    if (result.skipped) break;
    times_ += result.times;
    const double now = clock_.seconds();
    seconds_.push_back(now - std::exchange(last, now));
  }
  strategy.end_epoch(worker, false, times_);
}

}  // namespace lockstep
