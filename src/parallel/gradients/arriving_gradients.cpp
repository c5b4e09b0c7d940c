#include "parallel/gradients/arriving_gradients.h"

#include <algorithm>

namespace lockstep {

ArrivingGradients::ArrivingGradients(Device& device, GradientExchange& exchange, size_t most_floats)
    : exchange_(exchange),
      memory_(device.allocate(most_floats * sizeof(float))),
      mirror_(&device, memory_.floats()),
      packet_(exchange.compresses() ? exchange.packet_bytes(most_floats, 0) : 0) {}

void ArrivingGradients::receive(Communicator& ranks, int from, int tag, size_t floats,
                                size_t whole) {
  floats_ = floats;
  request_ = ranks.receive_segment(message(), from, tag,
                                   message().size() * whole / std::max<size_t>(1, floats));
}

std::span<float> ArrivingGradients::wait() {
  request_.wait();
  if (exchange_.compresses()) exchange_.unpack(message(), mirror_.floats().first(floats_), 0);
  mirror_.upload(0, floats_);
  return memory_.floats().first(floats_);
}

Bytes ArrivingGradients::message() {
  if (exchange_.compresses()) return {packet_.data(), exchange_.packet_bytes(floats_, 0)};
  return std::as_writable_bytes(mirror_.floats().first(floats_));
}

}  // namespace lockstep
