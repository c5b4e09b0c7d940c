#pragma once

#include <memory>
#include <string>

#include "nn/network.h"
#include "nn/parameters.h"
#include "nn/sequence.h"

namespace lockstep {

// A network made ready for one device and batch size: after this, a step allocates nothing.
//
// A micro-batch passes through forward(), loss_gradient() and backward(). Several can be in flight,
// each in a slot of its own; what forward() leaves for backward() stays in the slot, and the input
// must stay where it is until then.
class Program {
 public:
  // `sparse`: the inputs are sparse rows. `slots`: micro-batches in flight.
  Program(const Network& network, LossKind loss, Device& device, int64_t batch, bool sparse = false,
          size_t slots = 1);

  int64_t batch() const { return batch_; }
  const Sequence& sequence() const { return sequence_; }
  // Targets per sample: one, or one per position.
  int64_t answers() const { return answers_; }

  // Rows may be fewer than the batch. The input is the host's.
  void forward(const Parameters& parameters, const Input& input, int64_t rows, bool training,
               const SampleKeys& keys, size_t slot = 0);
  // Of the slot's last forward(), as the host sees them; valid until the next.
  std::span<const float> outputs(size_t slot = 0) const;
  LossSums loss(const Targets& targets, size_t slot = 0);
  // The loss, and its gradient divided by `divisor`: the rows of the whole batch.
  LossSums loss_gradient(const Targets& targets, int64_t divisor, size_t slot = 0);
  // parameters.gradients() become, or with `accumulate` grow by, those of the slot's micro-batch.
  void backward(bool accumulate, size_t slot = 0);

  // All three.
  LossSums gradients(const Parameters& parameters, const Input& input, int64_t rows,
                     const Targets& targets, const SampleKeys& keys, int64_t divisor,
                     bool accumulate);

  // Goes on with one sequence, of which the first `past` tokens are in the memory. Networks for
  // other numbers of new tokens can share it.
  size_t memory_bytes() const { return sequence_.needs().memory; }
  void extend(const Parameters& parameters, const float* tokens, int64_t past,
              const DeviceMemory& memory);

  void listen(PassListener* listener) { listener_ = listener; }

 private:
  struct Slot {
    DeviceMemory x;  // where the device does not share the host's memory
    DeviceMemory stash, y, dy;
    HostMirror outputs;
    Pass pass;  // of its micro-batch
  };

  Slot& begin(const Parameters& parameters, const Input& input, int64_t rows,
              const SampleKeys& keys, size_t slot);

  Device& device_;
  int64_t batch_, inputs_, outputs_;
  Sequence sequence_;
  int64_t answers_;
  std::unique_ptr<LossKernel> loss_;
  DeviceMemory scratch_;
  std::vector<Slot> slots_;
  PassListener* listener_ = nullptr;
};

}  // namespace lockstep
