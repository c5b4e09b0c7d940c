#include <optional>

#include "base/error.h"
#include "parallel/lbfgs/sandblaster_coordinator.h"
#include "parallel/lbfgs/sandblaster_server.h"
#include "parallel/strategies.h"

namespace lockstep {
namespace {

using namespace sandblaster;

// Sandblaster L-BFGS (Dean et al., NIPS 2012). The first ranks are workers, then come the servers,
// the last rank is the coordinator.
class Sandblaster final : public Strategy {
 public:
  Sandblaster(const ParallelConfig& config, const OptimizerConfig& optimizer)
      : config_(config), optimizer_(optimizer) {}

  void prepare(Worker& worker) override {
    const Communicator& ranks = worker.groups.data;
    workers_ = training_ranks(config_, ranks.size());
    coordinator_ = ranks.size() - 1;
    for (int64_t server = 0; server < config_.servers; ++server)
      shards_.emplace_back(worker.parameters.weights().size(), config_.servers, server);
    if (ranks.rank() == coordinator_)
      coordination_.emplace(worker.groups.data, optimizer_, workers_, shards_,
                            worker.device.computes());
    else if (ranks.rank() >= workers_)
      server_.emplace(worker, optimizer_, shards_[static_cast<size_t>(ranks.rank() - workers_)],
                      coordinator_);
  }

  StepResult step(Worker& worker, BatchSource& source, const StepPlan& plan) override {
    Communicator& ranks = worker.groups.data;
    const StepShare& share = source.share(plan.step);
    StepResult result = begin_step(plan);
    Ask ask{.kind = Ask::Kind::begin,
            .step = plan.step,
            .rows = share.all,
            .portions = static_cast<int64_t>(share.shards.size()),
            .rate = plan.learning_rate,
            .stop = plan.asked_to_stop};
    while (true) {
      const Task task = next_task(worker, ask, result);
      if (task.kind == Task::Kind::end_of_step) {
        finish(worker, task, result);
        return result;
      }
      if (task.evaluation != evaluation_) fetch_weights(worker, task.evaluation, result);
      StepResult portion;
      source.choose(plan.step, task.portion);
      worker.gradients(source, share.shards[static_cast<size_t>(task.portion)], share.all, false,
                       portion);
      push(ranks, worker, task, result);
      result.gradient_seconds += portion.gradient_seconds;
      result.times.load += portion.times.load;
      ask = {.kind = Ask::Kind::finished,
             .step = plan.step,
             .evaluation = task.evaluation,
             .portion = task.portion,
             .loss = portion.loss,
             .correct = portion.correct};
    }
  }

  void serve(Worker&) override { coordination_ ? coordination_->serve() : server_->serve(); }

  bool end_epoch(Worker& worker, bool stopping, StepTimes&) override {
    Communicator& ranks = worker.groups.data;
    const Ask ask{.kind = Ask::Kind::end_of_epoch};
    if (ranks.rank() < workers_) ranks.send(bytes_of(ask), coordinator_, ask_tag).wait();
    const HostMirror& weights = worker.parameters.weights_on_host();
    if (server_) weights.download();
    for (size_t i = 0; i < shards_.size(); ++i)
      ranks
          .broadcast(std::as_writable_bytes(shards_[i].of(weights.floats())),
                     workers_ + static_cast<int>(i))
          .wait();
    weights.upload();
    return stopping;
  }

  std::vector<HostMirror> mirrors() override {
    return server_ ? server_->mirrors() : std::vector<HostMirror>{};
  }
  std::vector<std::pair<std::string, int64_t*>> counters() override {
    if (!coordination_) return {};
    Lbfgs& lbfgs = coordination_->lbfgs();
    return {{"lbfgs/pairs", &lbfgs.kept_pairs()}, {"lbfgs/next", &lbfgs.next_slot()}};
  }
  std::vector<NamedFigure> figures() const override {
    return coordination_ ? coordination_->figures() : std::vector<NamedFigure>{};
  }

 private:
  Task next_task(const Worker& worker, const Ask& ask, StepResult& result) const {
    Communicator& ranks = worker.groups.data;
    const double start = worker.clock.seconds();
    Task task;
    ranks.send(bytes_of(ask), coordinator_, ask_tag).wait();
    ranks.receive(into(task), coordinator_, task_tag).wait();
    worker.note("wait for a portion", start);
    result.times.waiting += worker.clock.seconds() - start;
    return task;
  }

  void fetch_weights(Worker& worker, int64_t evaluation, StepResult& result) {
    Communicator& ranks = worker.groups.data;
    const double start = worker.clock.seconds();
    const HostMirror& weights = worker.parameters.weights_on_host();
    for (size_t i = 0; i < shards_.size(); ++i)
      ranks
          .send(bytes_of(Command{.kind = Command::Kind::send_weights, .evaluation = evaluation}),
                workers_ + static_cast<int>(i), command_tag)
          .wait();
    for (size_t i = 0; i < shards_.size(); ++i)
      ranks
          .receive(std::as_writable_bytes(shards_[i].of(weights.floats())),
                   workers_ + static_cast<int>(i), weights_tag)
          .wait();
    weights.upload();
    evaluation_ = evaluation;
    worker.note("fetch weights", start);
    result.times.exposed += worker.clock.seconds() - start;
  }

  void push(Communicator& ranks, const Worker& worker, const Task& task, StepResult& result) {
    const double start = worker.clock.seconds();
    const size_t floats = worker.parameters.gradients().size();
    const std::span<float> gradients = worker.parameters.gradients_on_host().download(0, floats);
    for (size_t i = 0; i < shards_.size(); ++i) {
      const int server = workers_ + static_cast<int>(i);
      const Command command{.kind = Command::Kind::add_gradient,
                            .evaluation = task.evaluation,
                            .portion = task.portion};
      ranks.send(bytes_of(command), server, command_tag).wait();
      ranks.send(std::as_bytes(shards_[i].of(gradients)), server, gradient_tag).wait();
    }
    worker.note("push gradients", start);
    result.times.exposed += worker.clock.seconds() - start;
  }

  // The figures of all ranks are rank 0's: the trainer adds those of ranks.
  static void finish(const Worker& worker, const Task& task, StepResult& result) {
    result.times.compute = result.gradient_seconds;
    result.gradient_norm = task.gradient_norm;
    result.stop = task.stop;
    result.loss = task.loss;
    result.rows = task.rows;
    worker.expect_finite(result);
    result.correct = task.correct;
    if (worker.groups.data.rank() > 0) result.loss = 0, result.rows = 0, result.correct = 0;
  }

  ParallelConfig config_;
  OptimizerConfig optimizer_;
  int workers_ = 0, coordinator_ = 0;
  std::vector<ArenaPart> shards_;  // by server
  std::optional<Server> server_;
  std::optional<Coordinator> coordination_;
  int64_t evaluation_ = -1;  // whose weights this worker has
};

StrategyTraits traits(const ParallelConfig& config) {
  return {.servers = config.servers + 1,
          .global_results = false,
          .meets_each_step = false,
          .sends_whole_arrays = true,
          .can_clip = false,
          .searches_lines = true,
          .only_searches_lines = true,
          .deals_portions = true};
}

}  // namespace

StrategyEntry sandblaster_entry() {
  return {"sandblaster",
          "L-BFGS: a coordinator deals portions of a batch, servers hold the vectors", traits,
          [](const ParallelConfig& config,
             const OptimizerConfig& optimizer) -> std::unique_ptr<Strategy> {
            return std::make_unique<Sandblaster>(config, optimizer);
          }};
}

}  // namespace lockstep
