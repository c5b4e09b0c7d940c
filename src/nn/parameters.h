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

// The framework whose default initialisation is used.
enum class Init { pytorch, keras };
template <>
inline constexpr auto enum_texts<Init> = std::array{"pytorch", "keras"};

// All weights of a network, or of parts of it, in one array, all gradients in another; a layer owns
// a slice of each.
class Parameters {
 public:
  struct Entry {
    ParameterSpec spec;
    int64_t offset = 0;     // in floats
    size_t index = 0;       // among the tensors of the whole network
    bool borrowed = false;  // a copy of the first tensor, which a layer of another part owns
  };
  // A part of the network: where its tensors begin, in floats.
  struct PartOfNetwork {
    LayerRange layers;
    size_t weights = 0, state = 0;
  };

  // Allocates host memory, for devices that share it, or memory of the device.
  explicit Parameters(const Network& network) : Parameters(network, nullptr, {{}}) {}
  Parameters(const Network& network, Device& device) : Parameters(network, &device, {{}}) {}
  // Holds only the tensors of these layers, one part after the other.
  Parameters(const Network& network, Device& device, const std::vector<LayerRange>& layers)
      : Parameters(network, &device, layers) {}
  // Moves weights and state to the device, unless it shares the host's memory.
  void move_to(Device& device);
  // Copies weights and state; `other` must be of the same network.
  void copy_from(const Parameters& other);

  // `frozen`: initialise frozen weights too; false if they are going to be loaded.
  void initialise(Init init, uint64_t seed, bool frozen = true);

  std::span<float> weights() const { return weights_.floats(); }
  std::span<float> gradients() const { return gradients_.floats().first(weights_.floats().size()); }
  // Gradients, followed by `tail_floats` floats for sums (loss, counts) that are reduced with them.
  std::span<float> gradients_and_tail() const { return gradients_.floats(); }
  static constexpr size_t tail_floats = 16;
  std::span<float> state() const { return state_.floats(); }
  // The same arrays in host memory. Gradients include the tail.
  const HostMirror& weights_on_host() const { return weights_mirror_; }
  const HostMirror& gradients_on_host() const { return gradients_mirror_; }
  const HostMirror& state_on_host() const { return state_mirror_; }
  // Whether part of the state changes during training.
  bool has_statistics() const;
  // Sparse inputs: the rows of the first tensor whose gradients are not 0. Dense inputs: null.
  TouchedRows* touched() const { return touched_.get(); }
  void expect_sparse_inputs();
  // Offset of the first gradient that is not tracked by touched().
  size_t dense_begin() const {
    return touched_ ? static_cast<size_t>(touched_->rows() * touched_->width()) : 0;
  }
  // The parts of the arena whose gradients may be nonzero, in ascending order.
  struct Span {
    size_t begin, count;
  };
  std::vector<Span> active() const;
  // End offset of each weight tensor, padding included.
  std::span<const size_t> tensor_ends() const { return tensor_ends_; }
  const std::vector<PartOfNetwork>& parts() const { return parts_; }
  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<Entry>& state_entries() const { return state_entries_; }

  // One tensor in file layout; `memory` is weights_on_host(), gradients_on_host() or
  // state_on_host().
  static std::vector<float> read(const Entry& entry, const HostMirror& memory);
  static void write(const Entry& entry, std::span<const float> values, const HostMirror& memory);

 private:
  Parameters(const Network& network, Device* device, const std::vector<LayerRange>& layers);
  void allocate(Device* device);

  std::vector<PartOfNetwork> parts_;
  std::vector<Entry> entries_, state_entries_;
  std::vector<size_t> tensor_ends_;
  size_t weight_floats_ = 0, state_floats_ = 0;
  DeviceMemory weights_, gradients_, state_;
  HostMirror weights_mirror_, gradients_mirror_, state_mirror_;
  std::unique_ptr<TouchedRows> touched_;
};

}  // namespace lockstep
