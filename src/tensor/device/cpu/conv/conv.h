#pragma once

#include <memory>
#include <vector>

#include "os/thread_pool.h"
#include "tensor/kernel.h"
#include "tensor/specs.h"

namespace lockstep {

// A convolution has three jobs: forward, weight gradient, input gradient. Each has several
// algorithms, which estimate their cost for a shape; the device takes the cheapest (conv.cpp).

// Images stored with their zero border, so that algorithms need not check for edges. `data` points
// at the top left of the border.
struct PaddedImages {
  const float* data;
  int64_t row_pitch, sample_pitch;  // in floats
};

// Extent of the padded image that an algorithm reads: all windows, or tiles that go beyond them.
struct PaddedExtent {
  int64_t rows, columns;
};
PaddedExtent window_extent(const ConvSpec& spec);

// y = result, winners = for each pooled output, which of its four inputs is the maximum: 0..3 in
// row-major order, dead_winner if relu makes it 0.
constexpr uint8_t dead_winner = 4;
class ConvForward {
 public:
  virtual ~ConvForward() = default;
  virtual const char* name() const = 0;
  virtual PaddedExtent extent() const = 0;
  virtual size_t scratch_bytes() const = 0;
  virtual void run(int64_t rows, const PaddedImages& x, const float* weights, const float* bias,
                   float* y, uint8_t* winners, std::byte* scratch) = 0;
};

// dw (+)= the gradient. dy has the shape of result() and is 0 where relu gave 0; `winners` is given
// if the spec pools. The caller computes the gradient of the bias.
class ConvWeightGradient {
 public:
  virtual ~ConvWeightGradient() = default;
  virtual const char* name() const = 0;
  virtual PaddedExtent extent() const = 0;
  virtual size_t scratch_bytes() const = 0;
  virtual void run(int64_t rows, const PaddedImages& x, const float* dy, const uint8_t* winners,
                   float* dw, bool accumulate, std::byte* scratch) = 0;
};

class ConvInputGradient {
 public:
  virtual ~ConvInputGradient() = default;
  virtual const char* name() const = 0;
  virtual size_t scratch_bytes() const = 0;
  virtual void run(int64_t rows, const float* dy, const uint8_t* winners, const float* weights,
                   float* dx, std::byte* scratch) = 0;
};

// cost() is an estimate in nanoseconds per sample, negative if the algorithm does not apply.
template <typename Job>
struct ConvCandidate {
  const char* name;
  double (*cost)(const ConvSpec& spec);
  std::unique_ptr<Job> (*make)(const ConvSpec& spec, ThreadPool& pool);
};

std::vector<ConvCandidate<ConvForward>> conv_forward_candidates();
std::vector<ConvCandidate<ConvWeightGradient>> conv_weight_gradient_candidates();
std::vector<ConvCandidate<ConvInputGradient>> conv_input_gradient_candidates();

// Algorithms selected by name; for tests and benchmarks.
struct ConvChoice {
  std::string forward, weight_gradient, input_gradient;  // empty: the cheapest
};
std::unique_ptr<Kernel> make_conv(const ConvSpec& spec, ThreadPool& pool, const ConvChoice& choice);

// For each output pixel, the offset of its window in the padded image, in floats. With pooling, the
// four pixels of a pooling window are adjacent; pixels that pooling drops are left out.
std::vector<int64_t> window_starts(const ConvSpec& spec, int64_t row_pitch);

// The offset of each tap from its window's start, in floats.
std::vector<int64_t> tap_offsets(const ConvSpec& spec, int64_t row_pitch);

// Row and column of the winning pixel within its pooling window.
inline int64_t winner_row(uint8_t winner) { return winner >> 1 & 1; }
inline int64_t winner_column(uint8_t winner) { return winner & 1; }

}  // namespace lockstep
