#include <algorithm>
#include <cmath>

#include "os/buffer.h"
#include "tensor/device/cpu/cpu_device.h"
#include "tensor/device/cpu/gemm/gemm.h"
#include "tensor/dropout_mask.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/device/cpu/attention.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/contrib/math/math-inl.h>

#include "tensor/device/cpu/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

HWY_INLINE Vec largest_of(const float* values, int64_t count) {
  const Floats d;
  Vec most = hn::Set(d, values[0]);
  int64_t i = 0;
  for (; i + lanes() <= count; i += lanes()) most = hn::Max(most, hn::LoadU(d, values + i));
  for (; i < count; ++i) most = hn::Max(most, hn::Set(d, values[i]));
  return hn::MaxOfLanes(d, most);
}

// s = softmax(scale * s) over the first `count`; the rest up to `length` become 0. Returns the
// logarithm of the sum of exponentials, from which the row can be recomputed.
float softmax_row(float* s, int64_t count, int64_t length, float scale) {
  const Floats d;
  const Vec factor = hn::Set(d, scale), most = largest_of(s, count);
  Vec sum = hn::Zero(d);
  for (int64_t i = 0; i < count; i += lanes()) {
    const int64_t left = count - i;
    Vec power = hn::Exp(d, hn::Mul(factor, hn::Sub(load_part(s + i, left), most)));
    if (left < lanes()) power = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(left)), power);
    sum = hn::Add(sum, power);
    store_part(power, s + i, left);
  }
  const float total = hn::GetLane(hn::SumOfLanes(d, sum));
  const Vec share = hn::Set(d, 1.0f / total);
  for (int64_t i = 0; i < count; i += lanes())
    store_part(hn::Mul(load_part(s + i, count - i), share), s + i, count - i);
  std::fill(s + count, s + length, 0.0f);
  return scale * hn::GetLane(most) + std::log(total);
}

void softmax_again(float* s, int64_t count, int64_t length, float scale, float log_sum) {
  const Floats d;
  const Vec factor = hn::Set(d, scale), whole = hn::Set(d, log_sum);
  for (int64_t i = 0; i < count; i += lanes())
    store_part(hn::Exp(d, hn::MulSub(factor, load_part(s + i, count - i), whole)), s + i,
               count - i);
  std::fill(s + count, s + length, 0.0f);
}

// dp = scale * p * (dp - sum(p dp))
void softmax_row_back(const float* p, float* dp, int64_t length, float scale) {
  const Floats d;
  Vec sum = hn::Zero(d);
  for (int64_t i = 0; i < length; i += lanes())
    sum = hn::MulAdd(load_part(p + i, length - i), load_part(dp + i, length - i), sum);
  const Vec mean = hn::SumOfLanes(d, sum), factor = hn::Set(d, scale);
  for (int64_t i = 0; i < length; i += lanes()) {
    const int64_t left = length - i;
    const Vec change = hn::Sub(load_part(dp + i, left), mean);
    store_part(hn::Mul(hn::Mul(load_part(p + i, left), factor), change), dp + i, left);
  }
}

// One query against keys: scores[j] = q . keys[j]
void scores_of(const float* q, const float* keys, int64_t stride, int64_t count, int64_t width,
               float* scores) {
  const Floats d;
  for (int64_t j = 0; j < count; ++j, keys += stride) {
    Vec sum = hn::Zero(d);
    for (int64_t i = 0; i < width; i += lanes())
      sum = hn::MulAdd(load_part(q + i, width - i), load_part(keys + i, width - i), sum);
    scores[j] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

// y = the sum of shares[j] * values[j]
void mix_of(const float* shares, const float* values, int64_t stride, int64_t count, int64_t width,
            float* y) {
  const Floats d;
  for (int64_t i = 0; i < width; i += lanes()) {
    Vec sum = hn::Zero(d);
    for (int64_t j = 0; j < count; ++j)
      sum = hn::MulAdd(hn::Set(d, shares[j]), load_part(values + j * stride + i, width - i), sum);
    store_part(sum, y + i, width - i);
  }
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(softmax_row);
HWY_EXPORT(softmax_again);
HWY_EXPORT(softmax_row_back);
HWY_EXPORT(scores_of);
HWY_EXPORT(mix_of);

namespace {

constexpr int64_t query_block = 64;

// Queries are processed in blocks, each against the keys up to its last position: scores of
// later keys are never computed. Scores are kept per block only; backward recomputes them.
class CpuAttention final : public Kernel {
 public:
  CpuAttention(const AttentionSpec& spec, ThreadPool& pool)
      : s_(spec),
        pool_(pool),
        width_(spec.head_width()),
        scale_(1.0f / std::sqrt(static_cast<float>(spec.head_width()))),
        longest_(aligned_floats(std::max(spec.positions, spec.context))) {}
  const char* name() const override { return "blocks"; }

  KernelNeeds needs() const override {
    return {.stash = floats(s_.batch * s_.heads * s_.positions),
            .scratch = static_cast<size_t>(pool_.threads()) * member_bytes(),
            .memory = floats(2 * s_.context * s_.width)};
  }

  void forward(const Pass& p) override {
    if (p.memory) remember(p);
    for_each_head(p, [&](const Head& h, Work& w) {
      for (int64_t first = 0; first < s_.positions; first += query_block)
        forward_block(p, h, w, first, std::min(s_.positions, first + query_block));
    });
  }

  void backward(const Pass& p) override {
    if (!p.dx) return;
    for_each_head(p, [&](const Head& h, Work& w) {
      float* dx = p.dx + (h.q - p.x);
      for (int64_t t = 0; t < s_.positions; ++t)
        for (int part = 1; part <= 2; ++part)  // k and v
          std::fill_n(dx + t * 3 * s_.width + part * s_.width, width_, 0.0f);
      for (int64_t first = 0; first < s_.positions; first += query_block)
        backward_block(p, h, w, dx, first, std::min(s_.positions, first + query_block));
    });
  }

 private:
  // Operands of one head of one sample.
  struct Head {
    int64_t sample, head;
    const float *q, *k, *v;  // of position 0
    int64_t k_stride;
    float* y;
    float* log_sums;
  };
  // Scratch memory of one thread.
  struct Work {
    float *scores, *gradients, *dropped;
    std::byte* gemm;
  };

  static size_t floats(int64_t count) {
    return round_up(static_cast<size_t>(count) * sizeof(float), cache_line);
  }
  size_t block_bytes() const { return floats(query_block * longest_); }
  size_t member_bytes() const {
    return 3 * block_bytes() + round_up(gemm_scratch_bytes(1), cache_line);
  }
  int64_t stride() const { return 3 * s_.width; }

  template <typename Use>
  void for_each_head(const Pass& p, const Use& use) {
    pool_.split(p.rows * s_.heads, 1, [&](int64_t begin, int64_t end, int member) {
      std::byte* at = p.scratch + static_cast<size_t>(member) * member_bytes();
      Work work{reinterpret_cast<float*>(at), reinterpret_cast<float*>(at + block_bytes()),
                reinterpret_cast<float*>(at + 2 * block_bytes()), at + 3 * block_bytes()};
      for (int64_t i = begin; i < end; ++i) use(head(p, i / s_.heads, i % s_.heads), work);
    });
  }

  Head head(const Pass& p, int64_t sample, int64_t index) const {
    const int64_t offset = index * width_;
    const float* x = p.x + sample * s_.positions * stride() + offset;
    Head h{
        .sample = sample,
        .head = index,
        .q = x,
        .k = x + s_.width,
        .v = x + 2 * s_.width,
        .k_stride = stride(),
        .y = p.y + sample * s_.positions * s_.width + offset,
        .log_sums = reinterpret_cast<float*>(p.stash) + (sample * s_.heads + index) * s_.positions};
    if (p.memory) {
      h.k = reinterpret_cast<const float*>(p.memory) + offset;
      h.v = h.k + s_.context * s_.width;
      h.k_stride = s_.width;
    }
    return h;
  }

  // Appends keys and values of these positions to those of the past.
  void remember(const Pass& p) const {
    float* keys = reinterpret_cast<float*>(p.memory) + p.past * s_.width;
    float* values = keys + s_.context * s_.width;
    for (int64_t t = 0; t < s_.positions; ++t) {
      const float* x = p.x + t * stride();
      std::copy_n(x + s_.width, s_.width, keys + t * s_.width);
      std::copy_n(x + 2 * s_.width, s_.width, values + t * s_.width);
    }
  }

  template <typename Use>
  void for_each_kept(const Pass& p, const Head& h, int64_t query, int64_t keys, Use use) const {
    const DropoutSpec spec{.batch = s_.batch, .rate = s_.dropout, .layer = s_.layer};
    const int64_t first = (h.head * s_.positions + query) * s_.positions;
    DropoutMask(spec, p.keys, h.sample).for_each(first, first + keys, [&](int64_t unit, float f) {
      use(unit - first, f);
    });
  }

  void compute_scores(const Head& h, Work& w, int64_t first, int64_t queries, int64_t keys) {
    run_alone({.m = queries,
               .n = keys,
               .k = width_,
               .a = row_major(h.q + first * stride(), stride()),
               .b = transposed(h.k, h.k_stride),
               .c = w.scores,
               .c_stride = longest_},
              w.gemm);
  }

  void forward_block(const Pass& p, const Head& h, Work& w, int64_t first, int64_t end) {
    const int64_t queries = end - first, keys = p.past + end;
    if (queries == 1) {
      const float* q = h.q + first * stride();
      HWY_DYNAMIC_DISPATCH(scores_of)(q, h.k, h.k_stride, keys, width_, w.scores);
    } else {
      compute_scores(h, w, first, queries, keys);
    }
    for (int64_t i = 0; i < queries; ++i) {
      float* row = w.scores + i * longest_;
      h.log_sums[first + i] =
          HWY_DYNAMIC_DISPATCH(softmax_row)(row, p.past + first + i + 1, keys, scale_);
      if (p.training && s_.dropout > 0)
        for_each_kept(p, h, first + i, first + i + 1, [&](int64_t j, float f) { row[j] *= f; });
    }
    if (queries == 1) {
      HWY_DYNAMIC_DISPATCH(mix_of)
      (w.scores, h.v, h.k_stride, keys, width_, h.y + first * s_.width);
      return;
    }
    run_alone({.m = queries,
               .n = width_,
               .k = keys,
               .a = row_major(w.scores, longest_),
               .b = row_major(h.v, h.k_stride),
               .c = h.y + first * s_.width,
               .c_stride = s_.width},
              w.gemm);
  }

  void backward_block(const Pass& p, const Head& h, Work& w, float* dx, int64_t first,
                      int64_t end) {
    const int64_t queries = end - first, keys = end;
    const float* dy = p.dy + (h.y - p.y) + first * s_.width;
    float *dq = dx + first * stride(), *dk = dx + s_.width, *dv = dx + 2 * s_.width;
    const bool drops = s_.dropout > 0;
    compute_scores(h, w, first, queries, keys);
    for (int64_t i = 0; i < queries; ++i) {
      float *row = w.scores + i * longest_, *dropped = w.dropped + i * longest_;
      HWY_DYNAMIC_DISPATCH(softmax_again)
      (row, first + i + 1, keys, scale_, h.log_sums[first + i]);
      if (!drops) continue;
      std::fill_n(dropped, keys, 0.0f);
      for_each_kept(p, h, first + i, first + i + 1,
                    [&](int64_t j, float f) { dropped[j] = row[j] * f; });
    }
    run_alone({.m = keys,  // dv += scores^T dy
               .n = width_,
               .k = queries,
               .a = transposed(drops ? w.dropped : w.scores, longest_),
               .b = row_major(dy, s_.width),
               .c = dv,
               .c_stride = stride(),
               .accumulate = true},
              w.gemm);
    run_alone({.m = queries,  // gradient of the scores: dy v^T
               .n = keys,
               .k = width_,
               .a = row_major(dy, s_.width),
               .b = transposed(h.v, h.k_stride),
               .c = w.gradients,
               .c_stride = longest_},
              w.gemm);
    for (int64_t i = 0; i < queries; ++i) {
      float* row = w.gradients + i * longest_;
      if (drops)
        for_each_kept(p, h, first + i, first + i + 1, [&](int64_t j, float f) { row[j] *= f; });
      HWY_DYNAMIC_DISPATCH(softmax_row_back)(w.scores + i * longest_, row, keys, scale_);
    }
    run_alone({.m = queries,
               .n = width_,
               .k = keys,
               .a = row_major(w.gradients, longest_),
               .b = row_major(h.k, h.k_stride),
               .c = dq,
               .c_stride = stride()},
              w.gemm);
    run_alone({.m = keys,
               .n = width_,
               .k = queries,
               .a = transposed(w.gradients, longest_),
               .b = row_major(h.q + first * stride(), stride()),
               .c = dk,
               .c_stride = stride(),
               .accumulate = true},
              w.gemm);
  }

  AttentionSpec s_;
  ThreadPool& pool_;
  int64_t width_;
  float scale_;
  int64_t longest_;
};

}  // namespace

std::unique_ptr<Kernel> CpuDevice::make(const AttentionSpec& spec) {
  return std::make_unique<CpuAttention>(spec, pool_);
}

}  // namespace lockstep
#endif
