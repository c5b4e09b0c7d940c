#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "comm/communicator.h"
#include "nn/program.h"
#include "parallel/batch_source.h"
#include "parallel/gradients/gradient_buckets.h"
#include "parallel/pipeline/schedule.h"
#include "parallel/step_result.h"
#include "parallel/trace.h"

namespace lockstep {

// Passes the micro-batches of a step through this rank's parts of the network, together with the
// ranks that hold the others. With one stage, each micro-batch goes forward and then backward.
class Pipeline {
 public:
  // `parts`: layers of all parts of the network; this rank holds those of its stage. `batch`: rows
  // of the largest micro-batch. `micro_batches`: of the longest step.
  struct Plan {
    Schedule schedule = Schedule::one_f_one_b;
    int chunks = 1;
    std::vector<LayerRange> parts = {{}};
    int64_t batch = 1, micro_batches = 1;
    LossKind loss{};
    bool sparse = false;
  };
  Pipeline(const Network& network, const Plan& plan, Communicator& stages, Device& device);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;

  // Layers that a stage holds, by chunk.
  static std::vector<LayerRange> layers_of(const std::vector<LayerRange>& parts, int stages,
                                           int stage);

  struct Step {
    int64_t rows = 0, divisor = 1;
    bool accumulate = false;
    GradientBuckets* buckets = nullptr;  // are reduced while gradients are completed
    Trace* trace = nullptr;
  };
  // Writes (with `accumulate`: adds) the gradients of the next `rows` samples. The figures of the
  // result are those of the stage with the last layers, on all others 0.
  void gradients(const Parameters& parameters, BatchSource& source, const Step& step,
                 const Clock& clock, StepResult& result);

  // Passes a batch forward, without gradients. `use` sees the program with the outputs, on the
  // stage with the last layers only.
  using UseOutputs = std::function<void(Program& program)>;
  void pass_forward(const Parameters& parameters, const Input& input, int64_t rows,
                    const SampleKeys& keys, const UseOutputs& use);

  // Sees every layer of every pass; null: nobody does.
  void listen(PassListener* watcher) { watcher_ = watcher; }

  // Messages between stages have tags below twice this number.
  static constexpr int most_parts = 240;

  // The stage with a copy of the network's first tensor, which stage 0 owns; -1: none.
  int borrower() const { return borrower_; }
  int64_t batch() const { return plan_.batch; }
  int64_t answers() const;
  // Number of latest micro-batches whose samples must stay valid.
  int64_t held_batches();
  // The part with the first layers, or the first that this rank has.
  Program& program();
  bool alone() const { return alone_; }
  double bubble() const;  // see bubble_of()

 private:
  class Chunk;
  class Progress;

  void gradients_alone(const Parameters& parameters, BatchSource& source, const Step& step,
                       const Clock& clock, StepResult& result);
  void gradients_together(const Parameters& parameters, BatchSource& source, const Step& step,
                          const Clock& clock, StepResult& result);
  PipelineShape shape_of(int64_t micro_batches) const;
  const std::vector<Action>& actions(int64_t micro_batches);

  Plan plan_;
  Communicator& stages_;
  const bool alone_;  // one stage
  int borrower_ = -1;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::unique_ptr<Progress> progress_;
  PassListener* watcher_ = nullptr;
  std::vector<MicroBatch> batches_;  // of the step
  std::vector<Action> actions_;
  int64_t actions_for_ = 0;  // micro-batches
};

}  // namespace lockstep
