#include "nn/program.h"

#include "base/error.h"

namespace lockstep {

Program::Program(const Network& network, LossKind loss, Device& device, int64_t batch, bool sparse,
                 size_t slots, const LayerRange& layers, size_t part)
    : device_(device),
      batch_(batch),
      sequence_(device, network.layers(), network.input(), batch, layers.begin > 0, "", 1, sparse,
                layers),
      inputs_(sequence_.in_floats()),
      outputs_(sequence_.out_floats()),
      first_(layers.begin == 0),
      part_(part),
      answers_(network.output().is_sequence() ? network.output().positions() : 1),
      scratch_(device.allocate(sequence_.needs().scratch)) {
  const bool last = layers.end >= network.layers().size();
  if (last)
    loss_ = device.prepare(LossSpec{
        .batch = batch, .positions = answers_, .outputs = outputs_ / answers_, .kind = loss});
  const size_t output_bytes = static_cast<size_t>(batch * outputs_) * sizeof(float);
  const size_t input_bytes = static_cast<size_t>(batch * inputs_) * sizeof(float);
  const bool copies_input = first_ && !sparse && !device.shares_host_memory();
  for (size_t i = 0; i < slots; ++i) {
    slots_.push_back({.x = copies_input ? device.allocate(input_bytes) : DeviceMemory(),
                      .stash = device.allocate(sequence_.needs().stash),
                      .y = device.allocate(output_bytes),
                      .dy = last ? device.allocate(output_bytes) : DeviceMemory(),
                      .outputs = {},
                      .pass = {}});
    slots_.back().outputs = {&device, slots_.back().y.floats()};
  }
}

Program::Slot& Program::begin(const Parameters& parameters, const Input& input, int64_t rows,
                              const SampleKeys& keys, size_t slot) {
  ENSURE(rows >= 1 && rows <= batch_ && slot < slots_.size());
  Slot& s = slots_[slot];
  s.pass = {.rows = rows,
            .x = input.x,
            .sparse = input.sparse,
            .touched = parameters.touched(),
            .y = s.y.floats().data(),
            .weights = parameters.weights().data() + parameters.parts()[part_].weights,
            .gradients = parameters.gradients().data() + parameters.parts()[part_].weights,
            .state = parameters.state().data() + parameters.parts()[part_].state,
            .stash = s.stash.data(),
            .scratch = scratch_.data(),
            .keys = keys,
            .listener = listener_};
  if (input.x && s.x.bytes() > 0) {
    const auto floats = static_cast<size_t>(rows * inputs_);
    device_.upload({input.x, floats}, s.x.floats().first(floats));
    s.pass.x = s.x.floats().data();
  }
  return s;
}

void Program::forward(const Parameters& parameters, const Input& input, int64_t rows, bool training,
                      const SampleKeys& keys, size_t slot) {
  Slot& s = begin(parameters, input, rows, keys, slot);
  s.pass.training = training;
  sequence_.forward(s.pass);
}

std::span<const float> Program::outputs(size_t slot) const {
  const Slot& s = slots_[slot];
  return s.outputs.download(0, static_cast<size_t>(s.pass.rows * outputs_));
}

LossSums Program::loss(const Targets& targets, size_t slot) {
  const Slot& s = slots_[slot];
  return loss_->run(s.pass.rows, s.y.floats().data(), targets, nullptr, s.pass.rows);
}

LossSums Program::loss_gradient(const Targets& targets, int64_t divisor, size_t slot) {
  const Slot& s = slots_[slot];
  return loss_->run(s.pass.rows, s.y.floats().data(), targets, s.dy.floats().data(), divisor);
}

void Program::backward(bool accumulate, size_t slot, float* dy, float* dx) {
  Slot& s = slots_[slot];
  s.pass.accumulate = accumulate;
  s.pass.dy = dy ? dy : s.dy.floats().data();
  s.pass.dx = dx;
  s.pass.listener = listener_;
  sequence_.backward(s.pass);
}

LossSums Program::gradients(const Parameters& parameters, const Input& input, int64_t rows,
                            const Targets& targets, const SampleKeys& keys, int64_t divisor,
                            bool accumulate) {
  forward(parameters, input, rows, true, keys);
  const LossSums sums = loss_gradient(targets, divisor);
  if (listener_) listener_->loss_done(sums);
  backward(accumulate);
  return sums;
}

void Program::extend(const Parameters& parameters, const float* tokens, int64_t past,
                     const DeviceMemory& memory) {
  Slot& s = begin(parameters, tokens, 1, {}, 0);
  s.pass.training = false;
  s.pass.past = past;
  s.pass.memory = memory.data();
  sequence_.forward(s.pass);
}

}  // namespace lockstep
