#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "nn/network.h"
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

  explicit Parameters(const Network& network);

  // `frozen`: also weights that are not trained; else somebody will load them.
  void initialise(Init init, uint64_t seed, bool frozen = true);

  std::span<float> weights() const { return weights_.floats(); }
  std::span<float> gradients() const { return gradients_.floats().first(weights_.floats().size()); }
  // Gradients and a few floats behind them, so that a step's figures can travel with them.
  std::span<float> gradients_and_tail() const { return gradients_.floats(); }
  static constexpr size_t tail_floats = 16;
  std::span<float> state() const { return state_.floats(); }
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
  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<Entry>& state_entries() const { return state_entries_; }

  // One tensor in the layout of files.
  static std::vector<float> to_canonical(const Entry& entry, std::span<const float> arena);
  static void from_canonical(const Entry& entry, std::span<const float> values,
                             std::span<float> arena);

 private:
  std::vector<Entry> entries_, state_entries_;
  Buffer weights_, gradients_, state_;
  std::unique_ptr<TouchedRows> touched_;
};

}  // namespace lockstep
