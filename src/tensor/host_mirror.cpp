#include "tensor/host_mirror.h"

namespace lockstep {

std::span<float> HostMirror::floats() const {
  if (!device_) return memory_;
  if (copy_.bytes() == 0) copy_ = Buffer(memory_.size_bytes());
  return copy_.floats().first(memory_.size());
}

void HostMirror::upload(size_t begin, size_t count) const {
  if (device_) device_->upload(floats().subspan(begin, count), memory_.subspan(begin, count));
}

std::span<float> HostMirror::download(size_t begin, size_t count) const {
  const std::span<float> host = floats().subspan(begin, count);
  if (device_) device_->download(memory_.subspan(begin, count), host);
  return host;
}

}  // namespace lockstep
