#include "nn/parameters.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/rng.h"
#include "nn/sequence.h"

namespace lockstep {
namespace {

// Appends those of the network's tensors that the range holds. `floats`: size of the arena.
void place(const std::vector<LayerTensor>& all, const LayerRange& range, bool borrows,
           std::vector<Parameters::Entry>& entries, size_t& floats) {
  for (size_t i = 0; i < all.size(); ++i) {
    const bool owned = range.contains(all[i].layer);
    if (!owned && !(i == 0 && borrows)) continue;
    entries.push_back({.spec = all[i].spec,
                       .offset = static_cast<int64_t>(floats),
                       .index = i,
                       .borrowed = !owned});
    floats += static_cast<size_t>(aligned_floats(all[i].spec.stored.elements()));
  }
}

// visit(index in file order, index in stored order)
template <typename Visit>
void for_each_element(const ParameterSpec& spec, Visit visit) {
  const int rank = spec.stored.rank();
  if (std::is_sorted(spec.axes.begin(), spec.axes.end())) {  // both orders are the same
    for (int64_t i = 0; i < spec.stored.elements(); ++i) visit(i, i);
    return;
  }
  std::array<int64_t, Shape::max_rank> stride{};
  int64_t step = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    stride[size_t(axis)] = step;
    step *= spec.stored[axis];
  }
  std::array<int64_t, Shape::max_rank> at{};
  const int64_t count = spec.stored.elements();
  for (int64_t i = 0; i < count; ++i) {
    int64_t stored = 0;
    for (int axis = 0; axis < rank; ++axis)
      stored += at[size_t(axis)] * stride[size_t(spec.axes[size_t(axis)])];
    visit(i, stored);
    for (int axis = rank - 1; axis >= 0; --axis) {
      if (++at[size_t(axis)] < spec.stored[spec.axes[size_t(axis)]]) break;
      at[size_t(axis)] = 0;
    }
  }
}

// Initial values are uniform in [-bound, bound]; 0: all zeros.
double bound(Init init, const ParameterSpec& spec) {
  if (init == Init::pytorch) return 1 / std::sqrt(static_cast<double>(spec.fan_in));
  if (spec.role == Role::bias) return 0;
  return std::sqrt(6.0 / static_cast<double>(spec.fan_in + spec.fan_out));
}

}  // namespace

Parameters::Parameters(const Network& network, Device* device,
                       const std::vector<LayerRange>& layers) {
  const std::vector<LayerTensor> weights = network.weight_tensors(),
                                 state = network.state_tensors();
  for (const LayerRange& range : layers) {
    parts_.push_back({range, weight_floats_, state_floats_});
    const bool borrows = borrows_first_tensor(network.layers(), network.input(), range);
    place(weights, range, borrows && !weights.empty() && weights[0].layer == 0, entries_,
          weight_floats_);
    place(state, range, borrows && (weights.empty() || weights[0].layer != 0), state_entries_,
          state_floats_);
  }
  for (size_t i = 1; i < entries_.size(); ++i)
    tensor_ends_.push_back(static_cast<size_t>(entries_[i].offset));
  if (!entries_.empty()) tensor_ends_.push_back(weight_floats_);
  allocate(device);
}

void Parameters::allocate(Device* device) {
  const auto make = [&](size_t floats) {
    const size_t bytes = floats * sizeof(float);
    return device ? device->allocate(bytes) : DeviceMemory::on_host(bytes);
  };
  weights_ = make(weight_floats_);
  gradients_ = make(weight_floats_ + tail_floats);
  state_ = make(state_floats_);
  weights_mirror_ = {device, weights_.floats()};
  gradients_mirror_ = {device, gradients_.floats()};
  state_mirror_ = {device, state_.floats()};
}

void Parameters::copy_from(const Parameters& other) {
  std::ranges::copy(other.weights_mirror_.download(), weights_mirror_.floats().begin());
  std::ranges::copy(other.state_mirror_.download(), state_mirror_.floats().begin());
  weights_mirror_.upload();
  state_mirror_.upload();
}

void Parameters::move_to(Device& device) {
  if (device.shares_host_memory()) return;
  const DeviceMemory weights = std::move(weights_), state = std::move(state_);
  allocate(&device);
  device.upload(weights.floats(), weights_.floats());
  device.upload(state.floats(), state_.floats());
}

bool Parameters::has_statistics() const {
  return std::any_of(state_entries_.begin(), state_entries_.end(),
                     [](const Entry& entry) { return !entry.spec.frozen; });
}

void Parameters::initialise(Init init, uint64_t seed, bool frozen) {
  const auto fill = [&](const std::vector<Entry>& entries, const HostMirror& into) {
    for (size_t i = 0; i < entries.size(); ++i) {
      const ParameterSpec& spec = entries[i].spec;
      if (spec.frozen && !frozen) continue;
      Rng rng(seed, Purpose::initial_weights, entries[i].index);
      const bool drawn = spec.role == Role::weight || spec.role == Role::bias;
      const double limit = drawn && !spec.deviation ? bound(init, spec) : 0;
      const double middle = spec.role == Role::scale ? 1 : 0;
      std::vector<float> values(static_cast<size_t>(spec.stored.elements()));
      for (float& value : values)
        value = static_cast<float>(limit > 0 ? limit * (2 * rng.uniform() - 1)
                                   : spec.deviation.value_or(0) > 0 ? *spec.deviation * rng.normal()
                                                                    : middle);
      write(entries[i], values, into);
    }
  };
  fill(entries_, weights_mirror_);
  fill(state_entries_, state_mirror_);
}

void Parameters::expect_sparse_inputs() {
  ENSURE(!entries_.empty() && entries_[0].spec.stored.rank() == 2);
  const Shape& first = entries_[0].spec.stored;
  touched_ = std::make_unique<TouchedRows>(first[0], first[1]);
}

std::vector<Parameters::Span> Parameters::active() const {
  if (!touched_) return {{0, gradients().size()}};
  const auto width = static_cast<size_t>(touched_->width());
  std::vector<Span> spans;
  for (const auto [begin, end] : touched_->runs())
    spans.push_back({static_cast<size_t>(begin) * width, static_cast<size_t>(end - begin) * width});
  spans.push_back({dense_begin(), gradients().size() - dense_begin()});
  return spans;
}

std::vector<float> Parameters::read(const Entry& entry, const HostMirror& memory) {
  const auto count = static_cast<size_t>(entry.spec.stored.elements());
  const std::span<const float> stored = memory.download(static_cast<size_t>(entry.offset), count);
  std::vector<float> values(count);
  for_each_element(entry.spec, [&](int64_t file, int64_t at) {
    values[static_cast<size_t>(file)] = stored[static_cast<size_t>(at)];
  });
  return values;
}

void Parameters::write(const Entry& entry, std::span<const float> values,
                       const HostMirror& memory) {
  ENSURE(static_cast<int64_t>(values.size()) == entry.spec.stored.elements());
  const auto begin = static_cast<size_t>(entry.offset);
  const std::span<float> stored = memory.floats().subspan(begin, values.size());
  for_each_element(entry.spec, [&](int64_t file, int64_t at) {
    stored[static_cast<size_t>(at)] = values[static_cast<size_t>(file)];
  });
  memory.upload(begin, values.size());
}

}  // namespace lockstep
