#pragma once

#include <memory>
#include <string>

#include "nn/network.h"
#include "nn/parameters.h"
#include "nn/sequence.h"

namespace lockstep {

// A network prepared for one device and batch size. A step allocates nothing.
//
// A micro-batch passes through forward(), loss_gradient() and backward(). Several can be in flight,
// each in its own slot, which keeps what backward() needs from forward(). The input must stay valid
// until backward() returns.
class Program {
 public:
  // `sparse`: the inputs are sparse rows. `slots`: number of micro-batches in flight.
  Program(const Network& network, LossKind loss, Device& device, int64_t batch, bool sparse = false,
          size_t slots = 1);

  int64_t batch() const { return batch_; }
  const Sequence& sequence() const { return sequence_; }
  // Targets per sample: one, or one per position.
  int64_t answers() const { return answers_; }

  // `rows` is at most the batch size. The input is in host memory.
  void forward(const Parameters& parameters, const Input& input, int64_t rows, bool training,
               const SampleKeys& keys, size_t slot = 0);
  // Outputs of the slot's last forward(), in host memory; valid until its next forward().
  std::span<const float> outputs(size_t slot = 0) const;
  LossSums loss(const Targets& targets, size_t slot = 0);
  // Returns the loss and computes its gradient, divided by `divisor`, the rows of the whole batch.
  LossSums loss_gradient(const Targets& targets, int64_t divisor, size_t slot = 0);
  // Writes the gradients of the slot's micro-batch to parameters.gradients(), or adds them with
  // `accumulate`.
  void backward(bool accumulate, size_t slot = 0);

  // forward(), loss_gradient() and backward().
  LossSums gradients(const Parameters& parameters, const Input& input, int64_t rows,
                     const Targets& targets, const SampleKeys& keys, int64_t divisor,
                     bool accumulate);

  // Continues one sequence whose first `past` tokens are in `memory` (the key-value cache).
  // Programs for different numbers of new tokens can share the memory.
  size_t memory_bytes() const { return sequence_.needs().memory; }
  void extend(const Parameters& parameters, const float* tokens, int64_t past,
              const DeviceMemory& memory);

  void listen(PassListener* listener) { listener_ = listener; }

 private:
  struct Slot {
    DeviceMemory x;  // copy of the input, if the device does not share the host's memory
    DeviceMemory stash, y, dy;
    HostMirror outputs;
    Pass pass;  // of the slot's micro-batch
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
