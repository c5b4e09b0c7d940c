#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lockstep {

// Identifies what a batch's samples may draw random numbers for, whichever rank holds them.
struct SampleKeys {
  uint64_t seed = 0;
  uint64_t epoch = 0;
  std::span<const int64_t> ids;  // one a row
};

// Rows of which most values are 0: row r holds values[i] in column columns[i], for i from begins[r]
// up to begins[r + 1].
struct SparseRows {
  std::span<const int64_t> begins;
  std::span<const int32_t> columns;
  std::span<const float> values;
};

// What a network is given: rows of floats one after the other, or sparse rows.
struct Input {
  const float* x = nullptr;
  SparseRows sparse;

  Input(const float* dense) : x(dense) {}
  Input(const SparseRows& rows) : sparse(rows) {}
};

class TouchedRows;

struct LossSums {
  double loss = 0;      // summed over rows
  int64_t correct = 0;  // answers whose largest output is the label's, or one of several targets
};

// Hears of each layer as it finishes within a pass: profilers time it, strategies start to reduce
// its gradients while the rest of the backward pass runs.
class PassListener {
 public:
  virtual ~PassListener() = default;
  virtual void loss_done(const LossSums&) {}  // between forward and backward
  // `gradients`: those that are now complete; empty on the way forward.
  virtual void layer_done(const std::string& layer, bool backward, std::span<float> gradients) = 0;
};

// What one run of a kernel works on. Rows are samples; there may be fewer than were prepared for.
struct Pass {
  int64_t rows = 0;
  const float* x = nullptr;
  SparseRows sparse;               // instead of x, where the spec says so
  TouchedRows* touched = nullptr;  // sparse, backward: learns which gradients are not 0
  float* y = nullptr;
  float* dy = nullptr;  // backward; the kernel may overwrite it
  float* dx = nullptr;  // backward; null when nobody needs it
  const float* weights = nullptr;
  float* gradients = nullptr;  // overwritten, or added to when `accumulate`
  float* state = nullptr;      // what a layer keeps that no optimiser touches (running statistics)
  std::byte* stash = nullptr;  // written by forward, read by the backward of the same batch
  std::byte* scratch = nullptr;  // anything, within one call
  // Going on with one sequence: so many of its positions are known from earlier passes, and what
  // has to be remembered of them is in the memory. Null: samples are whole.
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
  size_t memory = 0;  // to go on with a sequence
};

// One prepared operation, forward and backward.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual KernelNeeds needs() const { return {}; }
  virtual void forward(const Pass& pass) = 0;
  virtual void backward(const Pass& pass) = 0;
  virtual const char* name() const = 0;  // which algorithm was picked
};

// What the network's outputs are compared with: a class a row (and position), or a value an output.
struct Targets {
  std::span<const int32_t> labels;
  std::span<const float> values;
};

class LossKernel {
 public:
  virtual ~LossKernel() = default;
  // Sums the loss; where dy is given, fills it with the gradient of loss / divisor.
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
