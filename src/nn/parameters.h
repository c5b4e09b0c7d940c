#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nn/network.h"
#include "tensor/device_memory.h"
#include "tensor/host_mirror.h"
#include "tensor/touched_rows.h"

namespace lockstep {

// Initial weights as this framework draws them by default.
enum class Init { pytorch, keras };
template <>
inline constexpr auto enum_texts<Init> = std::array{"pytorch", "keras"};

// All weights of a network in one array, all gradients in another; a layer owns a slice of each.
class Parameters {
 public:
  struct Entry {
    ParameterSpec spec;
    int64_t offset = 0;  // in floats
  };

  // In the host's memory, for devices that share it, or in a device's.
  explicit Parameters(const Network& network) : Parameters(network, nullptr) {}
  Parameters(const Network& network, Device& device) : Parameters(network, &device) {}
  // Weights and state to a device that does not share the host's memory.
  void move_to(Device& device);
  // Weights and state of the same network.
  void copy_from(const Parameters& other);

  // `frozen`: also weights that are not trained; else somebody will load them.
  void initialise(Init init, uint64_t seed, bool frozen = true);

  std::span<float> weights() const { return weights_.floats(); }
  std::span<float> gradients() const { return gradients_.floats().first(weights_.floats().size()); }
  // Gradients and a few floats behind them, so that a step's figures can travel with them.
  std::span<float> gradients_and_tail() const { return gradients_.floats(); }
  static constexpr size_t tail_floats = 16;
  std::span<float> state() const { return state_.floats(); }
  // The same as the host sees them. Behind gradients, their tail.
  const HostMirror& weights_on_host() const { return weights_mirror_; }
  const HostMirror& gradients_on_host() const { return gradients_mirror_; }
  const HostMirror& state_on_host() const { return state_mirror_; }
  // Whether some of the state changes while training.
  bool has_statistics() const;
  // Where inputs are sparse: rows of the first tensor whose gradients are not 0. Null elsewhere.
  TouchedRows* touched() const { return touched_.get(); }
  void expect_sparse_inputs();
  // Where the gradients begin that every step has.
  size_t dense_begin() const {
    return touched_ ? static_cast<size_t>(touched_->rows() * touched_->width()) : 0;
  }
  // The parts of the arena whose gradients may be other than 0, in ascending order.
  struct Span {
    size_t begin, count;
  };
  std::vector<Span> active() const;
  // Where each tensor of the weights ends, padding included.
  std::span<const size_t> tensor_ends() const { return tensor_ends_; }
  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<Entry>& state_entries() const { return state_entries_; }

  // One tensor in the layout of files; `memory` is weights_on_host() or the like.
  static std::vector<float> read(const Entry& entry, const HostMirror& memory);
  static void write(const Entry& entry, std::span<const float> values, const HostMirror& memory);

 private:
  Parameters(const Network& network, Device* device);
  void allocate(Device* device);

  std::vector<Entry> entries_, state_entries_;
  std::vector<size_t> tensor_ends_;
  size_t weight_floats_ = 0, state_floats_ = 0;
  DeviceMemory weights_, gradients_, state_;
  HostMirror weights_mirror_, gradients_mirror_, state_mirror_;
  std::unique_ptr<TouchedRows> touched_;
};

}  // namespace lockstep
