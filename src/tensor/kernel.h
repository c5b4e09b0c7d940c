#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lockstep {

// Keys of the samples' random streams, independent of rank.
struct SampleKeys {
  uint64_t seed = 0;
  uint64_t epoch = 0;
  std::span<const int64_t> ids;  // one per row
};

// Compressed sparse rows: row r holds values[i] in column columns[i], for i from begins[r] up to
// begins[r + 1].
struct SparseRows {
  std::span<const int64_t> begins;
  std::span<const int32_t> columns;
  std::span<const float> values;
};

// Input of a network: contiguous rows of floats, or sparse rows.
struct Input {
  const float* x = nullptr;
  SparseRows sparse;

  Input(const float* dense) : x(dense) {}
  Input(const SparseRows& rows) : sparse(rows) {}
};

class TouchedRows;

struct LossSums {
  double loss = 0;      // summed over rows
  int64_t correct = 0;  // rows whose largest output is the label, or has a target above 0.5
};

// Called when each layer of a pass finishes: profilers time it, strategies start to reduce its
// gradients while the rest of the backward pass runs.
class PassListener {
 public:
  virtual ~PassListener() = default;
  virtual void loss_done(const LossSums&) {}  // between forward and backward
  // `gradients`: those that are now complete; empty in the forward pass.
  virtual void layer_done(const std::string& layer, bool backward, std::span<float> gradients) = 0;
};

// Operands of one run of a kernel. Rows are samples; there may be fewer than the prepared batch.
struct Pass {
  int64_t rows = 0;
  const float* x = nullptr;
  SparseRows sparse;               // instead of x, if the spec is sparse
  TouchedRows* touched = nullptr;  // sparse, backward: receives the rows with gradients
  float* y = nullptr;
  float* dy = nullptr;  // backward; the kernel may overwrite it
  float* dx = nullptr;  // backward; null when not needed
  const float* weights = nullptr;
  float* gradients = nullptr;    // overwritten, or added to when `accumulate`
  float* state = nullptr;        // running statistics, which no optimiser updates
  std::byte* stash = nullptr;    // written by forward, read by the backward of the same batch
  std::byte* scratch = nullptr;  // for use within one call
  // To continue a sequence: number of its positions in earlier passes, and what the kernel keeps of
  // them (keys and values of attention). Null: samples are complete.
  int64_t past = 0;
  std::byte* memory = nullptr;
  bool training = true;
  bool accumulate = false;
  SampleKeys keys;
  PassListener* listener = nullptr;
};

struct KernelNeeds {  // bytes
  size_t stash = 0;
  size_t scratch = 0;
  size_t memory = 0;  // to continue a sequence
};

// One prepared operation, forward and backward.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual KernelNeeds needs() const { return {}; }
  virtual void forward(const Pass& pass) = 0;
  virtual void backward(const Pass& pass) = 0;
  virtual const char* name() const = 0;  // the selected algorithm
};

// What the outputs are compared with: one label per row and position, or one value per output.
struct Targets {
  std::span<const int32_t> labels;
  std::span<const float> values;
};

class LossKernel {
 public:
  virtual ~LossKernel() = default;
  // Sums the loss; dy, if not null, receives the gradient of loss / divisor.
  virtual LossSums run(int64_t rows, const float* y, const Targets& targets, float* dy,
                       int64_t divisor) = 0;
};

class UpdateKernel {
 public:
  virtual ~UpdateKernel() = default;
  // One step on part of the arena; `state` holds the update's arrays, each as long as the weights;
  // gradients are multiplied by `scale` first (clipping).
  virtual void run(std::span<float> weights, std::span<const float> gradients,
                   std::span<const std::span<float>> state, int64_t step, float lr,
                   float scale) = 0;
};

}  // namespace lockstep
