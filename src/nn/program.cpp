#include "nn/program.h"

#include "base/error.h"

namespace lockstep {

Program::Program(const Network& network, LossKind loss, Device& device, int64_t batch, bool sparse)
    : batch_(batch),
      outputs_(network.output().elements()),
      sequence_(device, network.layers(), network.input(), batch, false, "", 1, sparse),
      answers_(network.output().is_sequence() ? network.output().positions() : 1),
      loss_(device.prepare(LossSpec{
          .batch = batch, .positions = answers_, .outputs = outputs_ / answers_, .kind = loss})),
      stash_(sequence_.needs().stash),
      scratch_(sequence_.needs().scratch),
      y_(static_cast<size_t>(batch * outputs_) * sizeof(float)),
      dy_(static_cast<size_t>(batch * outputs_) * sizeof(float)) {}

Pass Program::pass(const Parameters& parameters, const Input& input, int64_t rows,
                   const SampleKeys& keys) {
  ENSURE(rows >= 1 && rows <= batch_);
  rows_ = rows;
  Pass p;
  p.rows = rows;
  p.x = input.x;
  p.sparse = input.sparse;
  p.touched = parameters.touched();
  p.y = y_.floats().data();
  p.weights = parameters.weights().data();
  p.gradients = parameters.gradients().data();
  p.state = parameters.state().data();
  p.stash = stash_.data();
  p.scratch = scratch_.data();
  p.keys = keys;
  p.listener = listener_;
  return p;
}

std::span<const float> Program::forward(const Parameters& parameters, const Input& input,
                                        int64_t rows, bool training, const SampleKeys& keys) {
  Pass p = pass(parameters, input, rows, keys);
  p.training = training;
  sequence_.forward(p);
  return y_.floats().first(static_cast<size_t>(rows * outputs_));
}

std::span<const float> Program::extend(const Parameters& parameters, const float* tokens,
                                       int64_t past, const Buffer& memory) {
  Pass p = pass(parameters, tokens, 1, {});
  p.training = false;
  p.past = past;
  p.memory = memory.data();
  sequence_.forward(p);
  return y_.floats();
}

LossSums Program::loss(const Targets& targets) {
  return loss_->run(rows_, y_.floats().data(), targets, nullptr, rows_);
}

LossSums Program::gradients(const Parameters& parameters, const Input& input, int64_t rows,
                            const Targets& targets, const SampleKeys& keys, int64_t divisor,
                            bool accumulate) {
  Pass p = pass(parameters, input, rows, keys);
  p.accumulate = accumulate;
  sequence_.forward(p);
  const LossSums sums = loss_->run(rows, y_.floats().data(), targets, dy_.floats().data(), divisor);
  if (listener_) listener_->loss_done(sums);
  p.dy = dy_.floats().data();
  sequence_.backward(p);
  return sums;
}

}  // namespace lockstep
