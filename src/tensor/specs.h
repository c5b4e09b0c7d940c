#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/enum_text.h"
#include "base/shape.h"

namespace lockstep {

// What a kernel is asked to do, in plain numbers. Shapes are those of one sample; images are
// height × width × channels. An output may be smaller than the formula's: whoever reads it may not
// need its last rows and columns ("dead region"), and then they are neither computed nor stored.

struct Window {
  int64_t height = 1, width = 1;
  int64_t stride_y = 1, stride_x = 1;
  int64_t pad_y = 0, pad_x = 0;

  bool operator==(const Window&) const = default;
  int64_t rows_from(int64_t in) const { return (in + 2 * pad_y - height) / stride_y + 1; }
  int64_t columns_from(int64_t in) const { return (in + 2 * pad_x - width) / stride_x + 1; }
  // How many of `in` rows or columns the first `out` outputs look at.
  int64_t rows_for(int64_t out, int64_t in) const;
  int64_t columns_for(int64_t out, int64_t in) const;
};

// y = pool(relu(x * w + b)). Weights are filters × height × width × channels, then the bias.
struct ConvSpec {
  int64_t batch = 0;
  Shape in, out;  // out: before pooling
  Window window;
  bool relu = false;
  bool max_pool = false;  // 2x2 windows, stride 2, whole windows of `out` only
  bool needs_dx = true;

  int64_t taps() const { return window.height * window.width * in.channels(); }
  Shape result() const;  // after pooling
  double flops() const;  // forward, one sample
};

// y = relu(x w + b) at each position of a sample. Weights are in × out, then the bias; transposed,
// they are out × in without a bias.
struct DenseSpec {
  int64_t batch = 0;
  int64_t positions = 1;
  int64_t in = 0, out = 0;
  bool relu = false;
  bool needs_dx = true;
  bool sparse = false;  // the input is SparseRows; then nobody needs dx
  bool transposed = false;
  bool frozen = false;  // no gradients of weights are wanted

  double flops() const { return 2.0 * static_cast<double>(positions * in * out); }
};

// y = tokens[x] + places[position]: rows of two tables for ids, which travel as floats (exact below
// 2^24). Weights are vocabulary × width, then context × width.
struct EmbeddingSpec {
  int64_t batch = 0;
  int64_t positions = 0;
  int64_t vocabulary = 0, context = 0, width = 0;
  bool tied = false;  // a later layer uses the first table too: its gradients are there already

  int64_t places_offset() const;
};

// Each position looks at itself and those before it: y = softmax(q k^T / sqrt(d)) v, head by head.
// A position has q, k and v one after the other (3 × width in), each with its heads side by side.
struct AttentionSpec {
  int64_t batch = 0;
  int64_t positions = 0, context = 0;  // context: how many positions may be remembered
  int64_t heads = 1, width = 0;
  float dropout = 0;   // of the softmax's results
  uint64_t layer = 0;  // part of dropout's random key

  int64_t head_width() const { return width / heads; }
};

enum class PoolKind { max, average };
struct PoolSpec {
  int64_t batch = 0;
  Shape in, out;
  Window window;
  PoolKind kind = PoolKind::max;
};

enum class ActivationKind { relu, sigmoid, tanh, gelu, softmax };
struct ActivationSpec {
  int64_t batch = 0;
  int64_t elements = 0;  // of one sample
  int64_t width = 0;     // softmax: sums to 1 over this many neighbours
  ActivationKind kind = ActivationKind::relu;
};

struct DropoutSpec {
  int64_t batch = 0;
  int64_t elements = 0;
  float rate = 0.5f;
  uint64_t layer = 0;  // which dropout of the network this is: part of the random key
};

// Weights are scale and shift, a value a channel each. Batch normalisation keeps running mean and
// variance as state; layer normalisation treats each position of each sample by itself.
enum class NormKind { batch, layer };
struct NormSpec {
  int64_t batch = 0;
  int64_t positions = 1;  // of one sample
  int64_t channels = 0;
  NormKind kind = NormKind::batch;
  bool relu = false;
  float epsilon = 1e-5f;
  float momentum = 0.1f;
};

enum class LossKind { softmax_cross_entropy, sigmoid_cross_entropy, mean_squared_error };
template <>
inline constexpr auto enum_texts<LossKind> =
    std::array{"softmax-cross-entropy", "sigmoid-cross-entropy", "mean-squared-error"};
struct LossSpec {
  int64_t batch = 0;
  int64_t positions = 1;  // each with a target of its own; a sample's loss is their mean
  int64_t outputs = 0;    // of a position
  LossKind kind = LossKind::softmax_cross_entropy;
};

enum class UpdateKind { sgd, momentum, nesterov, adam, adamw };
struct UpdateSpec {
  UpdateKind kind = UpdateKind::adam;
  float momentum = 0.9f;
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
  float weight_decay = 0;

  int state_arrays() const;  // arrays as long as the weights that the update keeps between steps
};

// Every operation of a layer.
using KernelSpec = std::variant<ConvSpec, DenseSpec, PoolSpec, ActivationSpec, DropoutSpec,
                                NormSpec, EmbeddingSpec, AttentionSpec>;

// In words: "conv 3x3 26x26x32 -> 11x11x128 relu maxpool, batch 128".
std::string text(const KernelSpec& spec);

// Where a parameter tensor starts behind another inside a layer's slice of the arena.
constexpr int64_t aligned_floats(int64_t count) { return (count + 15) / 16 * 16; }

inline int64_t EmbeddingSpec::places_offset() const { return aligned_floats(vocabulary * width); }

}  // namespace lockstep
