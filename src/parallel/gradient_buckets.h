#pragma once

#include <deque>
#include <functional>

#include "base/clock.h"
#include "comm/communicator.h"
#include "nn/parameters.h"
#include "parallel/step_tail.h"

namespace lockstep {

// Reduces gradients in pieces, each as soon as the backward pass has completed it: listens to the
// layers, last one first, and starts a reduction whenever enough of the arena's end is complete.
// One at a time: on a network the handshakes of the next would wait behind the data of the last.
// Rows that sparse inputs touch are left to Worker::reduce_touched.
class GradientBuckets final : public PassListener {
 public:
  using Reduce = std::function<Request(std::span<float>)>;  // of the host's memory
  GradientBuckets(const Parameters& parameters, int64_t bucket_floats, Reduce reduce,
                  const Clock& clock);

  // The next pass completes the gradients. `before`: the step's figures without that pass.
  void arm(const StepTail& before);
  void loss_done(const LossSums& sums) override;
  void layer_done(const std::string& layer, bool backward, std::span<float> gradients) override;

  struct Times {
    double hidden = 0;   // while the backward pass went on
    double exposed = 0;  // when nothing else was done
    double waiting = 0;  // for ranks that had not come
    double held_up = 0;  // part of exposed: the backward pass stood still for it
  };
  // Starts what is left and waits for all of it.
  Times finish();
  StepTail tail() const { return StepTail::read(tail_); }  // of all ranks, after finish()

 private:
  void add(size_t from);
  void move_on();  // without waiting

  const HostMirror& mirror_;
  std::span<const float> arena_;  // the device's
  std::span<float> tail_;         // the host's
  size_t first_;                  // where what is reduced here begins
  size_t bucket_floats_;
  Reduce reduce_;
  const Clock& clock_;
  bool armed_ = false;
  StepTail figures_;
  size_t complete_, started_;  // [complete_, end) is complete, [started_, end) under way
  struct Bucket {
    size_t begin, end;
  };
  std::deque<Bucket> waiting_;  // complete, not yet started
  Request active_;
  bool reducing_ = false;
  double spent_ = 0, began_ = 0;
};

}  // namespace lockstep
