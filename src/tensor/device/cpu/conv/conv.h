#pragma once

#include <memory>
#include <vector>

#include "os/thread_pool.h"
#include "tensor/kernel.h"
#include "tensor/specs.h"

namespace lockstep {

// A convolution is three jobs, and for each there are several algorithms. An algorithm says for
// which shapes it applies and what it would cost; the device takes the cheapest (conv.cpp).

// Images with their zero border laid out, so that no algorithm has to look for edges. `data` points
// at the top left of the border.
struct PaddedImages {
  const float* data;
  int64_t row_pitch, sample_pitch;  // in floats
};

// How much of the border an algorithm reads: windows of all outputs, or tiles that hang over.
struct PaddedExtent {
  int64_t rows, columns;
};
PaddedExtent window_extent(const ConvSpec& spec);

// y = result, winners = for each pooled output, which of its four inputs won: 0..3 in reading
// order, 4 when relu left nothing.
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

// dw (+)= the gradient; dy is of the result's shape: before pooling where the spec does not pool
// (relu already applied to it), with winners where it does. The bias is the caller's.
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

// A candidate: cost() is an estimate in nanoseconds a sample, negative where it does not apply.
template <typename Job>
struct ConvCandidate {
  const char* name;
  double (*cost)(const ConvSpec& spec);
  std::unique_ptr<Job> (*make)(const ConvSpec& spec, ThreadPool& pool);
};

std::vector<ConvCandidate<ConvForward>> conv_forward_candidates();
std::vector<ConvCandidate<ConvWeightGradient>> conv_weight_gradient_candidates();
std::vector<ConvCandidate<ConvInputGradient>> conv_input_gradient_candidates();

// The same kernel with the algorithms given by name instead of picked; for tests and benchmarks.
struct ConvChoice {
  std::string forward, weight_gradient, input_gradient;  // empty: the cheapest
};
std::unique_ptr<Kernel> make_conv(const ConvSpec& spec, ThreadPool& pool, const ConvChoice& choice);

// For each output pixel, where its window starts in the padded image. With pooling, the four pixels
// of a window follow each other; pixels that pooling drops are left out.
std::vector<int64_t> window_starts(const ConvSpec& spec, int64_t row_pitch);

// Where each tap of a window lies, from the window's start.
std::vector<int64_t> tap_offsets(const ConvSpec& spec, int64_t row_pitch);

// Offset of the winning pixel's window from that of its pooled window's first pixel, by winner.
inline int64_t winner_row(uint8_t winner) { return winner >> 1 & 1; }
inline int64_t winner_column(uint8_t winner) { return winner & 1; }

}  // namespace lockstep
