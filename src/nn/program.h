#pragma once

#include <memory>
#include <string>

#include "nn/network.h"
#include "nn/parameters.h"
#include "nn/sequence.h"

namespace lockstep {

// A network made ready for one device and batch size: after this, a step allocates nothing.
class Program {
 public:
  // `sparse`: the inputs are sparse rows.
  Program(const Network& network, LossKind loss, Device& device, int64_t batch,
          bool sparse = false);

  int64_t batch() const { return batch_; }
  const Sequence& sequence() const { return sequence_; }
  // How many targets a sample has: one, or one a position.
  int64_t answers() const { return answers_; }

  // Rows may be fewer than the batch. The outputs stay valid until the next call.
  std::span<const float> forward(const Parameters& parameters, const Input& input, int64_t rows,
                                 bool training, const SampleKeys& keys);
  LossSums loss(const Targets& targets);

  // Goes on with one sequence, of which the first `past` tokens are in the memory. Networks for
  // other numbers of new tokens can share it.
  size_t memory_bytes() const { return sequence_.needs().memory; }
  std::span<const float> extend(const Parameters& parameters, const float* tokens, int64_t past,
                                const Buffer& memory);

  // Forward, loss and backward. parameters.gradients() becomes, or grows by, the gradient of the
  // loss summed over these rows and divided by `divisor`: the rows of the whole batch.
  LossSums gradients(const Parameters& parameters, const Input& input, int64_t rows,
                     const Targets& targets, const SampleKeys& keys, int64_t divisor,
                     bool accumulate);

  void listen(PassListener* listener) { listener_ = listener; }

 private:
  Pass pass(const Parameters& parameters, const Input& input, int64_t rows, const SampleKeys& keys);

  int64_t batch_, outputs_;
  int64_t rows_ = 0;
  Sequence sequence_;
  int64_t answers_;
  std::unique_ptr<LossKernel> loss_;
  Buffer stash_, scratch_, y_, dy_;
  PassListener* listener_ = nullptr;
};

}  // namespace lockstep
