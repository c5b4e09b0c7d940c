#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/enum_text.h"
#include "base/shape.h"

namespace lockstep {

// Specifications of kernels, as plain values. Shapes are those of one sample; images are
// height × width × channels. An output may be smaller than its formula gives: last rows and columns
// that no later layer reads ("dead region") are neither computed nor stored.

struct Window {
  int64_t height = 1, width = 1;
  int64_t stride_y = 1, stride_x = 1;
  int64_t pad_y = 0, pad_x = 0;

  bool operator==(const Window&) const = default;
  int64_t rows_from(int64_t in) const { return (in + 2 * pad_y - height) / stride_y + 1; }
  int64_t columns_from(int64_t in) const { return (in + 2 * pad_x - width) / stride_x + 1; }
  // Number of rows or columns, out of `in`, that the first `out` outputs read.
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
  bool sparse = false;  // the input is SparseRows; dx is not needed
  bool transposed = false;
  bool frozen = false;  // weights get no gradients

  double flops() const { return 2.0 * static_cast<double>(positions * in * out); }
};

// y = tokens[x] + places[position], rows of two tables. Ids are stored as floats (exact below
// 2^24). Weights are vocabulary × width, then context × width.
struct EmbeddingSpec {
  int64_t batch = 0;
  int64_t positions = 0;
  int64_t vocabulary = 0, context = 0, width = 0;
  bool tied = false;  // a later layer shares the token table and has written its gradients already

  int64_t places_offset() const;
};

// Causal self-attention, per head: y = softmax(q k^T / sqrt(d)) v over a position and those before
// it. The input of a position is q, k and v (3 × width), each with its heads side by side.
struct AttentionSpec {
  int64_t batch = 0;
  int64_t positions = 0, context = 0;  // context: number of positions that fit the memory
  int64_t heads = 1, width = 0;
  float dropout = 0;   // rate, applied to the softmax
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
  int64_t elements = 0;  // per sample
  int64_t width = 0;     // softmax: number of adjacent values that sum to 1
  ActivationKind kind = ActivationKind::relu;
};

struct DropoutSpec {
  int64_t batch = 0;
  int64_t elements = 0;
  float rate = 0.5f;
  uint64_t layer = 0;  // index of the layer, part of the random key
};

// Weights are scale and shift, one value per channel each. Batch normalisation keeps running mean
// and variance as state; layer normalisation treats each position of each sample separately.
enum class NormKind { batch, layer };
struct NormSpec {
  int64_t batch = 0;
  int64_t positions = 1;  // per sample
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
  int64_t positions = 1;  // each with its own target; a sample's loss is their mean
  int64_t outputs = 0;    // per position
  LossKind kind = LossKind::softmax_cross_entropy;
};

enum class UpdateKind { sgd, momentum, nesterov, adagrad, adam, adamw };
struct UpdateSpec {
  UpdateKind kind = UpdateKind::adam;
  float momentum = 0.9f;
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
  float weight_decay = 0;

  int state_arrays() const;  // number of arrays kept between steps, each as long as the weights
};

// Every operation of a layer.
using KernelSpec = std::variant<ConvSpec, DenseSpec, PoolSpec, ActivationSpec, DropoutSpec,
                                NormSpec, EmbeddingSpec, AttentionSpec>;

// For example "conv 3x3 stride 1x1 28x28x1 -> 26x26x32 relu maxpool, batch 128".
std::string text(const KernelSpec& spec);

// Offset of a parameter tensor behind one of `count` floats in a layer's slice of the arena.
constexpr int64_t aligned_floats(int64_t count) { return (count + 15) / 16 * 16; }

inline int64_t EmbeddingSpec::places_offset() const { return aligned_floats(vocabulary * width); }

}  // namespace lockstep
