#include "tensor/device/cpu/conv/conv.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "os/buffer.h"
#include "tensor/device/cpu/conv/conv_algorithms.h"
#include "tensor/device/cpu/cpu_device.h"
#include "tensor/device/cpu/vector_ops.h"

namespace lockstep {

PaddedExtent window_extent(const ConvSpec& s) {
  return {(s.out.height() - 1) * s.window.stride_y + s.window.height,
          (s.out.width() - 1) * s.window.stride_x + s.window.width};
}

std::vector<int64_t> window_starts(const ConvSpec& s, int64_t row_pitch) {
  std::vector<int64_t> starts;
  const auto add = [&](int64_t oy, int64_t ox) {
    starts.push_back(oy * s.window.stride_y * row_pitch + ox * s.window.stride_x * s.in.channels());
  };
  if (!s.max_pool) {
    for (int64_t oy = 0; oy < s.out.height(); ++oy)
      for (int64_t ox = 0; ox < s.out.width(); ++ox) add(oy, ox);
    return starts;
  }
  for (int64_t py = 0; py < s.out.height() / 2; ++py)
    for (int64_t px = 0; px < s.out.width() / 2; ++px)
      for (int64_t k = 0; k < 4; ++k) add(py * 2 + k / 2, px * 2 + k % 2);
  return starts;
}

std::vector<int64_t> tap_offsets(const ConvSpec& s, int64_t row_pitch) {
  std::vector<int64_t> offsets;
  for (int64_t ky = 0; ky < s.window.height; ++ky)
    for (int64_t i = 0; i < s.window.width * s.in.channels(); ++i)
      offsets.push_back(ky * row_pitch + i);
  return offsets;
}

namespace {

template <typename Job>
std::unique_ptr<Job> pick(const std::vector<ConvCandidate<Job>>& candidates, const ConvSpec& spec,
                          ThreadPool& pool, const std::string& wanted) {
  const ConvCandidate<Job>* best = nullptr;
  for (const auto& candidate : candidates) {
    if (!wanted.empty() && wanted != candidate.name) continue;
    if (candidate.cost(spec) < 0) continue;
    if (!best || candidate.cost(spec) < best->cost(spec)) best = &candidate;
  }
  ENSURE(best != nullptr);
  return best->make(spec, pool);
}

class CpuConv final : public Kernel {
 public:
  CpuConv(const ConvSpec& spec, ThreadPool& pool, const ConvChoice& choice)
      : s_(spec),
        pool_(pool),
        forward_(pick(conv_forward_candidates(), spec, pool, choice.forward)),
        weight_gradient_(
            pick(conv_weight_gradient_candidates(), spec, pool, choice.weight_gradient)) {
    if (spec.needs_dx)
      input_gradient_ = pick(conv_input_gradient_candidates(), spec, pool, choice.input_gradient);
    const PaddedExtent a = forward_->extent(), b = weight_gradient_->extent();
    extent_ = {std::max(a.rows, b.rows), std::max(a.columns, b.columns)};
    copies_ = s_.window.pad_y > 0 || s_.window.pad_x > 0 || extent_.rows > s_.in.height() ||
              extent_.columns > s_.in.width();
    extent_.columns = std::max(extent_.columns, copies_ ? 0 : s_.in.width());
    name_ = fmt::format("{} / {} / {}", forward_->name(), weight_gradient_->name(),
                        input_gradient_ ? input_gradient_->name() : "-");
  }

  const char* name() const override { return name_.c_str(); }

  KernelNeeds needs() const override {
    size_t scratch = std::max(forward_->scratch_bytes(), weight_gradient_->scratch_bytes());
    if (input_gradient_) scratch = std::max(scratch, input_gradient_->scratch_bytes());
    const size_t border =
        copies_ ? static_cast<size_t>(s_.batch * padded_elements()) * sizeof(float) : 0;
    const size_t winners = s_.max_pool ? static_cast<size_t>(s_.batch * s_.result().elements()) : 0;
    return {.stash = round_up(border, cache_line) + round_up(winners, cache_line),
            .scratch = scratch};
  }

  void forward(const Pass& p) override {
    if (copies_) lay_out_border(p);
    forward_->run(p.rows, images(p), p.weights, p.weights + bias_offset(), p.y, winners(p),
                  p.scratch);
  }

  void backward(const Pass& p) override {
    const int64_t filters = s_.out.channels();
    const Shape result = s_.result();
    if (s_.relu)  // also with pooling: a pooled output is dead if it is not positive
      pool_.split(p.rows * result.elements(), 1024, [&](int64_t begin, int64_t end, int) {
        mask_where_dead(p.dy + begin, p.y + begin, end - begin);
      });
    column_sums(p.dy, p.rows * result.height() * result.width(), filters,
                p.gradients + bias_offset(), p.accumulate, pool_);
    weight_gradient_->run(p.rows, images(p), p.dy, winners(p), p.gradients, p.accumulate,
                          p.scratch);
    if (p.dx) input_gradient_->run(p.rows, p.dy, winners(p), p.weights, p.dx, p.scratch);
  }

 private:
  int64_t bias_offset() const { return aligned_floats(s_.out.channels() * s_.taps()); }
  int64_t padded_elements() const { return extent_.rows * extent_.columns * s_.in.channels(); }

  PaddedImages images(const Pass& p) const {
    if (!copies_) return {p.x, s_.in.width() * s_.in.channels(), s_.in.elements()};
    return {reinterpret_cast<const float*>(p.stash), extent_.columns * s_.in.channels(),
            padded_elements()};
  }

  uint8_t* winners(const Pass& p) const {
    if (!s_.max_pool) return nullptr;
    const size_t border =
        copies_ ? static_cast<size_t>(s_.batch * padded_elements()) * sizeof(float) : 0;
    return reinterpret_cast<uint8_t*>(p.stash) + round_up(border, cache_line);
  }

  void lay_out_border(const Pass& p) const {
    const int64_t channels = s_.in.channels(), pitch = extent_.columns * channels;
    const int64_t columns = std::min(s_.in.width(), extent_.columns - s_.window.pad_x);
    float* padded = reinterpret_cast<float*>(p.stash);
    pool_.split(p.rows, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n)
        for (int64_t row = 0; row < extent_.rows; ++row) {
          float* to = padded + n * padded_elements() + row * pitch;
          const int64_t y = row - s_.window.pad_y;
          if (y < 0 || y >= s_.in.height()) {
            std::fill(to, to + pitch, 0.0f);
            continue;
          }
          const float* from = p.x + (n * s_.in.height() + y) * s_.in.width() * channels;
          float* inside = std::fill_n(to, s_.window.pad_x * channels, 0.0f);
          inside = std::copy(from, from + columns * channels, inside);
          std::fill(inside, to + pitch, 0.0f);
        }
    });
  }

  ConvSpec s_;
  ThreadPool& pool_;
  std::unique_ptr<ConvForward> forward_;
  std::unique_ptr<ConvWeightGradient> weight_gradient_;
  std::unique_ptr<ConvInputGradient> input_gradient_;
  PaddedExtent extent_;
  bool copies_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Kernel> make_conv(const ConvSpec& spec, ThreadPool& pool,
                                  const ConvChoice& choice) {
  return std::make_unique<CpuConv>(spec, pool, choice);
}

std::unique_ptr<Kernel> CpuDevice::make(const ConvSpec& spec) { return make_conv(spec, pool_, {}); }

std::vector<ConvCandidate<ConvForward>> conv_forward_candidates() {
  return {implicit_gemm_forward(), winograd_forward(), onednn_forward()};
}

std::vector<ConvCandidate<ConvWeightGradient>> conv_weight_gradient_candidates() {
  return {implicit_gemm_weight_gradient(), sparse_weight_gradient_candidate(),
          winner_mask_weight_gradient(),   tap_rows_weight_gradient(),
          winograd_weight_gradient(),      onednn_weight_gradient()};
}

std::vector<ConvCandidate<ConvInputGradient>> conv_input_gradient_candidates() {
  return {implicit_gemm_input_gradient(), winograd_input_gradient(),
          sparse_input_gradient_candidate(), onednn_input_gradient()};
}

}  // namespace lockstep
