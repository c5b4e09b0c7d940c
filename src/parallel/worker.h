#pragma once

#include <functional>

#include "base/clock.h"
#include "base/error.h"
#include "comm/communicator.h"
#include "nn/parameters.h"
#include "nn/program.h"
#include "optim/optimizer.h"
#include "parallel/batch_source.h"
#include "parallel/gradient_buckets.h"
#include "parallel/step_result.h"
#include "parallel/trace.h"

namespace lockstep {

// The loss or the gradients of a step are not finite; the weights have not changed yet.
class NotFinite : public Failure {
 public:
  NotFinite(double loss, double gradient_norm)
      : Failure("loss {}, gradient norm {}", loss, gradient_norm) {}
};

// The ranks that a rank exchanges messages with, by what they share. A group of one works too.
struct Groups {
  Communicator& data;  // hold the same layers and train on different samples
};

// One rank of a training: its replica of the network, and what it can do with it.
struct Worker {
  Groups groups;
  Device& device;
  const Clock& clock;
  Program& program;
  Parameters& parameters;
  Optimizer& optimizer;
  double clip_norm = 0;
  bool checks_numbers = true;  // throws NotFinite
  Trace* trace = nullptr;
  DeviceMemory packed{};  // gradients of touched rows, while they are exchanged
  HostMirror packed_on_host{};

  // Adds (or, unless `accumulate`, writes) the gradients of the next `rows` samples, divided by
  // `divisor`, and adds their figures to the result. Buckets reduce during the last micro-batch.
  void gradients(BatchSource& source, int64_t rows, int64_t divisor, bool accumulate,
                 StepResult& result, GradientBuckets* buckets = nullptr);
  // With sparse inputs: rows that any rank touched are touched on all.
  void share_touched();
  // And sums their gradients over ranks, which GradientBuckets leaves out. `reduce` is given memory
  // of the host.
  using Reduce = std::function<Request(std::span<float>)>;
  void reduce_touched(const Reduce& reduce);
  // Norm, check, clipping and the optimiser's step, with the gradients as they are.
  void update(StepResult& result);
  // Throws NotFinite where loss or gradient norm of the result are not finite.
  void expect_finite(const StepResult& result) const;

  // For the trace: `name` took from `start` until now.
  void note(const char* name, double start) const {
    if (trace) trace->add(name, start, clock.seconds());
  }
};

// Gradients that ranks exchange: all, or with sparse inputs those of the last step's rows.
int64_t bytes_a_step(const Parameters& parameters);

}  // namespace lockstep
