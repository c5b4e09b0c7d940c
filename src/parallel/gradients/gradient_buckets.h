#pragma once

#include <deque>
#include <functional>

#include "base/clock.h"
#include "comm/communicator.h"
#include "nn/parameters.h"
#include "parallel/step_tail.h"

namespace lockstep {

// Reduces gradients in buckets during the backward pass, which completes layers from the end of the
// arena to its start. A bucket is reduced as soon as it is complete, with one reduction in flight
// at a time: on a network the handshakes of the next would wait behind the data of the previous
// one. Rows touched by sparse inputs are left to Worker::reduce_touched.
class GradientBuckets final : public PassListener {
 public:
  using Reduce = std::function<Request(std::span<float>)>;  // in host memory
  GradientBuckets(const Parameters& parameters, int64_t bucket_floats, Reduce reduce,
                  const Clock& clock);

  // Called before the pass that completes the gradients. `before`: the step's figures without it.
  void arm(const StepTail& before);
  void loss_done(const LossSums& sums) override;
  void layer_done(const std::string& layer, bool backward, std::span<float> gradients) override;

  struct Times {
    double hidden = 0;   // seconds, during the backward pass
    double exposed = 0;  // not hidden by the backward pass
    double waiting = 0;  // waiting for slower ranks
    double held_up = 0;  // part of exposed: delay of the backward pass
  };
  // Starts the remaining reductions and waits for all.
  Times finish();
  StepTail tail() const { return StepTail::read(tail_); }  // of all ranks, after finish()

 private:
  void add(size_t from);
  void move_on();  // starts the next bucket if none is in flight; does not wait

  const HostMirror& mirror_;
  std::span<const float> arena_;  // device memory
  std::span<float> tail_;         // host memory
  size_t first_;                  // begin of the gradients that are reduced here
  size_t bucket_floats_;
  Reduce reduce_;
  const Clock& clock_;
  bool armed_ = false;
  StepTail figures_;
  size_t complete_, started_;  // [complete_, end) is complete, [started_, end) in a bucket
  struct Bucket {
    size_t begin, end;
  };
  std::deque<Bucket> waiting_;  // complete, not yet started
  Request active_;
  bool reducing_ = false;
  double spent_ = 0, began_ = 0;
};

}  // namespace lockstep
