#pragma once

#include "comm/communicator.h"
#include "os/buffer.h"
#include "parallel/gradients/gradient_exchange.h"
#include "tensor/device_memory.h"
#include "tensor/host_mirror.h"

namespace lockstep {

// A message of gradients that a parameter server receives, and device memory for them.
class ArrivingGradients {
 public:
  ArrivingGradients(Device& device, GradientExchange& exchange, size_t most_floats);

  // A segment of a shard of `whole` floats.
  void receive(Communicator& ranks, int from, int tag, size_t floats, size_t whole);
  std::span<float> wait();  // until they have arrived

 private:
  Bytes message();

  GradientExchange& exchange_;
  DeviceMemory memory_;
  HostMirror mirror_;
  Buffer packet_;  // compressed
  size_t floats_ = 0;
  Request request_;
};

}  // namespace lockstep
