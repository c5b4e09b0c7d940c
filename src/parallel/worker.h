#pragma once

#include <functional>

#include "base/buffer.h"
#include "base/clock.h"
#include "comm/communicator.h"
#include "nn/parameters.h"
#include "nn/program.h"
#include "optim/optimizer.h"
#include "parallel/batch_source.h"
#include "parallel/gradient_buckets.h"
#include "parallel/step_result.h"
#include "parallel/trace.h"

namespace lockstep {

// What a strategy asks the trainer about, and tells it.
class StepHandler {
 public:
  virtual ~StepHandler() = default;
  virtual double learning_rate(int64_t step) const = 0;  // within the epoch, from 1
  // Loss and gradients of a step are known and the weights about to change. Throws if they are no
  // numbers.
  virtual void check(int64_t step, double loss, double gradient_norm) = 0;
  virtual void step_done(const StepResult& result) = 0;
  virtual bool asked_to_stop() const = 0;  // on this rank
  virtual void stopping() = 0;             // all ranks have agreed to leave the epoch here
};

// One rank of a training: its replica of the network, and what it can do with it.
struct Worker {
  Communicator& ranks;
  Device& device;
  const Clock& clock;
  Program& program;
  Parameters& parameters;
  Optimizer& optimizer;
  double clip_norm = 0;
  Trace* trace = nullptr;
  Buffer packed{};  // gradients of touched rows on their way

  // Adds (or, unless `accumulate`, writes) the gradients of the next `rows` samples, divided by
  // `divisor`, and adds their figures to the result. Buckets reduce during the last piece.
  void gradients(BatchSource& source, int64_t rows, int64_t divisor, bool accumulate,
                 StepResult& result, GradientBuckets* buckets = nullptr);
  // With sparse inputs: rows that any rank touched are touched on all.
  void share_touched();
  // And sums their gradients over ranks, which GradientBuckets leaves out.
  using Reduce = std::function<Request(std::span<float>)>;
  void reduce_touched(const Reduce& reduce);
  // Norm, check, clipping, learning rate and the optimiser's step, with the gradients as they are.
  void update(StepHandler& handler, StepResult& result);

  // For the trace: `name` took from `start` until now.
  void note(const char* name, double start) const {
    if (trace) trace->add(name, start, clock.seconds());
  }

  std::span<float> weights() const { return parameters.weights(); }
};

// Gradients that ranks exchange: all, or with sparse inputs those of the last step's rows.
int64_t bytes_a_step(const Parameters& parameters);

}  // namespace lockstep
