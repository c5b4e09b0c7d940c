#pragma once

#include <memory>
#include <string>

#include "nn/network.h"
#include "nn/parameters.h"
#include "nn/sequence.h"

namespace lockstep {

// A part of a network, usually all of it, prepared for one device and batch size. A step allocates
// nothing.
//
// A micro-batch passes through forward(), loss_gradient() and backward(). Several can be in flight,
// each in its own slot, which keeps what backward() needs from forward(). The input must stay valid
// until backward() returns.
//
// A part that does not begin with the network's first layer gets its inputs from the part before,
// in device memory, and its backward() computes their gradients. One that does not end with the
// last layer has no loss; its backward() is given the gradients of its outputs.
class Program {
 public:
  // `sparse`: the inputs are sparse rows. `slots`: number of micro-batches in flight. `part`: index
  // of one of the parts of the network that the parameters hold.
  Program(const Network& network, LossKind loss, Device& device, int64_t batch, bool sparse = false,
          size_t slots = 1, const LayerRange& layers = {}, size_t part = 0);

  int64_t batch() const { return batch_; }
  const Sequence& sequence() const { return sequence_; }
  bool is_first() const { return first_; }
  bool is_last() const { return loss_ != nullptr; }
  int64_t inputs() const { return inputs_; }  // floats per sample
  int64_t outputs_per_sample() const { return outputs_; }
  // Targets per sample: one, or one per position.
  int64_t answers() const { return answers_; }

  // `rows` is at most the batch size. The input of the first part is in host memory.
  void forward(const Parameters& parameters, const Input& input, int64_t rows, bool training,
               const SampleKeys& keys, size_t slot = 0);
  // Outputs of the slot's last forward(), in host memory; valid until its next forward().
  std::span<const float> outputs(size_t slot = 0) const;
  // The same in device memory.
  std::span<float> device_outputs(size_t slot = 0) { return slots_[slot].y.floats(); }
  LossSums loss(const Targets& targets, size_t slot = 0);
  // Returns the loss and computes its gradient, divided by `divisor`, the rows of the whole batch.
  LossSums loss_gradient(const Targets& targets, int64_t divisor, size_t slot = 0);
  // Writes the gradients of the slot's micro-batch to parameters.gradients(), or adds them with
  // `accumulate`. In device memory: `dy`, the gradients of the outputs, unless loss_gradient() has
  // computed them, which the call may overwrite; `dx` receives those of the inputs, unless null.
  void backward(bool accumulate, size_t slot = 0, float* dy = nullptr, float* dx = nullptr);

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
  int64_t batch_;
  Sequence sequence_;
  int64_t inputs_, outputs_;  // floats per sample
  bool first_;                // holds the network's first layer
  size_t part_;
  int64_t answers_;
  std::unique_ptr<LossKernel> loss_;  // null: not the last part
  DeviceMemory scratch_;
  std::vector<Slot> slots_;
  PassListener* listener_ = nullptr;
};

}  // namespace lockstep
