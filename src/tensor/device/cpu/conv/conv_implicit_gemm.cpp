#include "os/buffer.h"
#include "tensor/device/cpu/conv/conv_algorithms.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/device/cpu/conv/conv_implicit_gemm.cpp"
#include <hwy/foreach_target.h>
//
#include "tensor/device/cpu/conv/window_tiles-inl.h"

// Forward as a matrix product (windows × taps) · (taps × filters) without a copy of the windows:
// each row of a tile reads its window in place.

#ifndef LOCKSTEP_IMPLICIT_GEMM_JOB
#define LOCKSTEP_IMPLICIT_GEMM_JOB
namespace lockstep {
struct ImplicitGemmJob {
  const ConvSpec* spec;
  PaddedImages x;
  const int64_t* starts;
  int64_t per_sample;  // number of windows
  const float* panels;
  const float* bias;  // padded to whole panels
  float* y;
  uint8_t* winners;
};
}  // namespace lockstep
#endif

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

// Weights (filters × taps) as panels of taps × 2 vectors of filters.
void pack_filters(const float* weights, int64_t filters, int64_t taps, int64_t first_panel,
                  int64_t last_panel, float* panels) {
  const int64_t width = tile_columns();
  for (int64_t panel = first_panel; panel < last_panel; ++panel) {
    const int64_t columns = std::min(width, filters - panel * width);
    transpose_panel(weights + panel * width * taps, taps, columns, taps,
                    panels + panel * width * taps, width);
  }
}

void forward_samples(const ImplicitGemmJob& job, int64_t begin, int64_t end) {
  const ConvSpec& s = *job.spec;
  const int64_t width = tile_columns(), filters = s.out.channels();
  const Windows windows{.data = job.x.data,
                        .starts = job.starts,
                        .per_sample = job.per_sample,
                        .sample_pitch = job.x.sample_pitch,
                        .segments = s.window.height,
                        .length = s.window.width * s.in.channels(),
                        .pitch = job.x.row_pitch};
  HWY_ALIGN float four[12 * 32];  // three pooling windows of one panel
  // Images of a group of samples stay in the second-level cache for all panels.
  const int64_t group = std::max<int64_t>(1, 24 * 1024 / job.x.sample_pitch);
  for (int64_t n = begin; n < end; n += group) {
    const int64_t first = n * job.per_sample, last = std::min(end, n + group) * job.per_sample;
    for (int64_t f = 0; f < filters; f += width) {
      const int64_t columns = std::min(width, filters - f);
      WindowTile tile{.windows = windows,
                      .panel = job.panels + f * s.taps(),
                      .bias = job.bias + f,
                      .first = 0,
                      .to = nullptr,
                      .to_stride = filters,
                      .columns = columns,
                      .relu = s.relu};
      if (!s.max_pool) {
        for (tile.first = first; tile.first < last; tile.first += tile_rows) {
          tile.to = job.y + tile.first * filters + f;
          with_rows(last - tile.first, tile);
        }
        continue;
      }
      tile.to_stride = width;
      tile.columns = width;
      tile.relu = false;
      for (int64_t at = first; at < last; at += 12) {
        const int64_t count = std::min<int64_t>(12, last - at);
        for (int64_t half = 0; half < count; half += tile_rows) {
          tile.first = at + half;
          tile.to = four + half * width;
          with_rows(count - half, tile);
        }
        const Floats d;
        for (int64_t w = 0; w < count / 4; ++w)
          for (int64_t c = 0; c < columns; c += lanes()) {
            const float* v = four + w * 4 * width + c;
            const int64_t to = (at / 4 + w) * filters + f + c;
            pool_four(hn::Load(d, v), hn::Load(d, v + width), hn::Load(d, v + 2 * width),
                      hn::Load(d, v + 3 * width), s.relu, job.y + to, job.winners + to,
                      columns - c);
          }
      }
    }
  }
}

int64_t filters_in_a_panel() { return tile_columns(); }

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(pack_filters);
HWY_EXPORT(forward_samples);
HWY_EXPORT(filters_in_a_panel);

namespace {

class ImplicitGemmForward final : public ConvForward {
 public:
  ImplicitGemmForward(const ConvSpec& spec, ThreadPool& pool)
      : s_(spec),
        pool_(pool),
        width_(HWY_DYNAMIC_DISPATCH(filters_in_a_panel)()),
        panels_((spec.out.channels() + width_ - 1) / width_) {}

  const char* name() const override { return "implicit-gemm"; }
  PaddedExtent extent() const override { return window_extent(s_); }
  size_t scratch_bytes() const override {
    return static_cast<size_t>(panels_ * width_ * (s_.taps() + 1)) * sizeof(float);
  }

  void run(int64_t rows, const PaddedImages& x, const float* weights, const float* bias, float* y,
           uint8_t* winners, std::byte* scratch) override {
    if (x.row_pitch != pitch_) {
      pitch_ = x.row_pitch;
      starts_ = window_starts(s_, pitch_);
    }
    float* panels = reinterpret_cast<float*>(scratch);
    float* padded_bias = panels + panels_ * width_ * s_.taps();
    std::fill(std::copy(bias, bias + s_.out.channels(), padded_bias),
              padded_bias + panels_ * width_, 0.0f);
    pool_.split(panels_, 1, [&](int64_t begin, int64_t end, int) {
      HWY_DYNAMIC_DISPATCH(pack_filters)
      (weights, s_.out.channels(), s_.taps(), begin, end, panels);
    });
    const ImplicitGemmJob job{.spec = &s_,
                              .x = x,
                              .starts = starts_.data(),
                              .per_sample = static_cast<int64_t>(starts_.size()),
                              .panels = panels,
                              .bias = padded_bias,
                              .y = y,
                              .winners = winners};
    pool_.split(rows, 1, [&](int64_t begin, int64_t end, int) {
      HWY_DYNAMIC_DISPATCH(forward_samples)(job, begin, end);
    });
  }

 private:
  ConvSpec s_;
  ThreadPool& pool_;
  int64_t width_, panels_;
  int64_t pitch_ = -1;
  std::vector<int64_t> starts_;
};

double cost(const ConvSpec& s) { return s.flops() / 90; }

}  // namespace

ConvCandidate<ConvForward> implicit_gemm_forward() {
  return {"implicit-gemm", cost, [](const ConvSpec& s, ThreadPool& pool) {
            return std::unique_ptr<ConvForward>(std::make_unique<ImplicitGemmForward>(s, pool));
          }};
}

}  // namespace lockstep
#endif
