#pragma once

#include <functional>

#include "base/clock.h"
#include "base/error.h"
#include "comm/communicator.h"
#include "nn/parameters.h"
#include "optim/optimizer.h"
#include "parallel/batch_source.h"
#include "parallel/gradients/gradient_buckets.h"
#include "parallel/mesh/mesh.h"
#include "parallel/pipeline/pipeline.h"
#include "parallel/step_result.h"
#include "parallel/trace.h"

namespace lockstep {

// The loss or the gradients of a step are not finite; thrown before the weights change.
class NotFinite : public Failure {
 public:
  NotFinite(double loss, double gradient_norm)
      : Failure("loss {}, gradient norm {}", loss, gradient_norm) {}
};

// One rank of a training run: its replica of the network and the operations of a step.
struct Worker {
  Groups groups;
  Device& device;
  const Clock& clock;
  Pipeline& pipeline;
  Parameters& parameters;
  Optimizer& optimizer;
  double clip_norm = 0;
  bool checks_numbers = true;  // false: never throw NotFinite
  Trace* trace = nullptr;
  DeviceMemory packed{};  // gradients of touched rows, while they are exchanged
  HostMirror packed_on_host{};

  // Writes (with `accumulate`: adds) the gradients of the next `rows` samples, divided by
  // `divisor`, and adds their figures to the result. Buckets are reduced during the last
  // micro-batch.
  void gradients(BatchSource& source, int64_t rows, int64_t divisor, bool accumulate,
                 StepResult& result, GradientBuckets* buckets = nullptr);
  // With sparse inputs: marks rows touched on any rank as touched on all ranks.
  void share_touched();
  // The same, and sums their gradients over ranks, which GradientBuckets leaves out. `reduce` gets
  // host memory.
  using Reduce = std::function<Request(std::span<float>)>;
  void reduce_touched(const Reduce& reduce);
  // Gradient norm, expect_finite(), clipping and the optimiser's step. The stages of a pipeline
  // make it together: afterwards all know the figures of the step.
  void update(StepResult& result);
  // Norm of the gradients of the whole network. Stages share the gradients of a tensor that they
  // both have, and the figures of the step.
  double gradient_norm(StepResult& result);
  // Throws NotFinite if the loss or gradient norm of the result is not finite.
  void expect_finite(const StepResult& result) const;

  // Adds `name`, from `start` until now, to the trace.
  void note(const char* name, double start) const {
    if (trace) trace->add(name, start, clock.seconds());
  }
};

// Bytes of gradients that a rank exchanges per step. With sparse inputs those of rows touched in
// the last step, unless the strategy sends whole arrays.
int64_t bytes_per_step(const Parameters& parameters, bool whole_arrays = false);

}  // namespace lockstep
