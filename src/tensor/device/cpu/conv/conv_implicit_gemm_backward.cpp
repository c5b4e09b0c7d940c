#include <cmath>

#include "os/buffer.h"
#include "tensor/device/cpu/conv/conv_algorithms.h"
#include "tensor/device/cpu/gemm/gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/device/cpu/conv/conv_implicit_gemm_backward.cpp"
#include <hwy/foreach_target.h>
//
#include "tensor/device/cpu/conv/window_tiles-inl.h"

#ifndef LOCKSTEP_IMPLICIT_GEMM_BACKWARD_JOB
#define LOCKSTEP_IMPLICIT_GEMM_BACKWARD_JOB
namespace lockstep {
struct WeightGradientJob {
  const ConvSpec* spec;
  PaddedImages x;
  const int64_t* starts;
  int64_t per_sample;
  int64_t segments, length, pitch;
  const float* dz;  // pixels × filters, in the order of `starts`
  float* dw;
};
}  // namespace lockstep
#endif

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

// dw[filter .. + Rows][column .. + 2 vectors] +=
//     the sum over pixels of dz[pixel][filter] * window[column]
struct WeightTile {
  const float* strip;  // pixels × 6 gradients
  const float* column;
  const int64_t* starts;
  int64_t samples, per_sample, sample_pitch;
  float* dw;
  int64_t dw_stride, columns;

  template <int Rows>
  HWY_INLINE void run() const {
    if (columns > lanes())
      columns == tile_columns() ? sum<Rows, true, true>() : sum<Rows, true, false>();
    else
      sum<Rows, false, false>();
  }

  template <int Rows, bool Right, bool Whole>
  HWY_INLINE void sum() const {
    const Floats d;
    Tile<Rows> tile;
    tile.clear();
    const float* a = strip;
    for (int64_t n = 0; n < samples; ++n) {
      const float* base = column + n * sample_pitch;
      for (int64_t p = 0; p < per_sample; ++p, a += tile_rows) {
        const float* b = base + starts[p];
        const Vec b0 = Whole || Right ? hn::LoadU(d, b) : load_part(b, columns);
        const Vec b1 = Whole   ? hn::LoadU(d, b + lanes())
                       : Right ? load_part(b + lanes(), columns - lanes())
                               : hn::Zero(d);
        for (int r = 0; r < Rows; ++r) {
          const Vec g = hn::Set(d, a[r]);
          tile.left[r] = hn::MulAdd(g, b0, tile.left[r]);
          if (Right) tile.right[r] = hn::MulAdd(g, b1, tile.right[r]);
        }
      }
    }
    tile.add_from(dw, dw_stride, columns);
    tile.store(dw, dw_stride, columns);
  }
};

// Adds samples [begin, end) to dw of filters [f0, f1).
void weight_gradient_filters(const WeightGradientJob& job, int64_t begin, int64_t end, int64_t f0,
                             int64_t f1, float* strips) {
  const int64_t filters = job.spec->out.channels(), taps = job.spec->taps();
  const int64_t pixels = (end - begin) * job.per_sample;
  const float* dz = job.dz + begin * job.per_sample * filters;
  for (int64_t f = f0; f < f1; f += tile_rows) {
    const int64_t rows = std::min(tile_rows, f1 - f);
    float* to = strips + (f - f0) * pixels;
    for (int64_t p = 0; p < pixels; ++p)
      for (int64_t r = 0; r < rows; ++r) to[p * tile_rows + r] = dz[p * filters + f + r];
  }
  for (int64_t segment = 0; segment < job.segments; ++segment)
    for (int64_t j = 0; j < job.length; j += tile_columns())
      for (int64_t f = f0; f < f1; f += tile_rows) {
        const WeightTile tile{
            .strip = strips + (f - f0) * pixels,
            .column = job.x.data + begin * job.x.sample_pitch + segment * job.pitch + j,
            .starts = job.starts,
            .samples = end - begin,
            .per_sample = job.per_sample,
            .sample_pitch = job.x.sample_pitch,
            .dw = job.dw + f * taps + segment * job.length + j,
            .dw_stride = taps,
            .columns = std::min(tile_columns(), job.length - j)};
        with_rows(f1 - f, tile);
      }
}

// Panels for dx at stride 1, a convolution of dz with the filters rotated by 180 degrees, whose
// outputs are the channels: panel[(ky, kx, filter)][channel].
void pack_turned_filters(const float* weights, const ConvSpec& s, int64_t panel, float* to) {
  const int64_t channels = s.in.channels(), width = tile_columns();
  const int64_t columns = std::min(width, channels - panel * width);
  const int64_t positions = s.window.height * s.window.width;
  for (int64_t position = positions - 1; position >= 0; --position)
    for (int64_t f = 0; f < s.out.channels(); ++f, to += width) {
      const float* from = weights + (f * positions + position) * channels + panel * width;
      for (int64_t c = 0; c < width; c += lanes())
        hn::StoreU(c < columns ? load_part(from + c, columns - c) : hn::Zero(Floats()), Floats(),
                   to + c);
    }
}

void convolve_one(const float* data, const int64_t* starts, int64_t count, int64_t segments,
                  int64_t length, int64_t pitch, const float* panels, int64_t outputs, float* to) {
  const Windows windows{.data = data,
                        .starts = starts,
                        .per_sample = count,
                        .sample_pitch = 0,
                        .segments = segments,
                        .length = length,
                        .pitch = pitch};
  for (int64_t c = 0; c < outputs; c += tile_columns()) {
    WindowTile tile{.windows = windows,
                    .panel = panels + c * segments * length,
                    .bias = nullptr,
                    .first = 0,
                    .to = nullptr,
                    .to_stride = outputs,
                    .columns = std::min(tile_columns(), outputs - c),
                    .relu = false};
    for (; tile.first < count; tile.first += tile_rows) {
      tile.to = to + tile.first * outputs + c;
      with_rows(count - tile.first, tile);
    }
  }
}

int64_t channels_in_a_panel() { return tile_columns(); }

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(weight_gradient_filters);
HWY_EXPORT(pack_turned_filters);
HWY_EXPORT(convolve_one);
HWY_EXPORT(channels_in_a_panel);

namespace {

// With pooling: dz holds the gradients of the winners and zeros elsewhere, in the order of
// window_starts, which leaves out pixels that pooling drops.
void spread_winners(const ConvSpec& s, const float* dy, const uint8_t* winners, float* dz) {
  const int64_t filters = s.out.channels(), pooled = s.result().elements();
  std::fill(dz, dz + 4 * pooled, 0.0f);
  for (int64_t i = 0; i < pooled; ++i)
    if (winners[i] < dead_winner)
      dz[(i / filters * 4 + winners[i]) * filters + i % filters] = dy[i];
}

int64_t pixels_of(const ConvSpec& s) {
  return s.max_pool ? 4 * s.result().height() * s.result().width() : s.out.height() * s.out.width();
}

class ImplicitGemmWeightGradient final : public ConvWeightGradient {
 public:
  ImplicitGemmWeightGradient(const ConvSpec& spec, ThreadPool& pool)
      : s_(spec),
        pool_(pool),
        pixels_(pixels_of(spec)),
        group_(std::max<int64_t>(1, 400 / pixels_)) {}

  const char* name() const override { return "implicit-gemm"; }
  PaddedExtent extent() const override { return window_extent(s_); }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(strip_floats() * pool_.threads() + spread_floats()) * sizeof(float);
  }

  void run(int64_t rows, const PaddedImages& x, const float* dy, const uint8_t* winners, float* dw,
           bool accumulate, std::byte* scratch) override {
    const int64_t filters = s_.out.channels(), pooled = s_.result().elements();
    if (!accumulate) std::fill(dw, dw + filters * s_.taps(), 0.0f);
    if (x.row_pitch != pitch_) {
      pitch_ = x.row_pitch;
      starts_ = window_starts(s_, pitch_);
    }
    float* spread = reinterpret_cast<float*>(scratch);
    float* strips = spread + spread_floats();
    for (int64_t n = 0; n < rows; n += group_) {
      const int64_t count = std::min(group_, rows - n);
      const float* dz = dy + n * pooled;
      if (s_.max_pool) {
        for (int64_t i = 0; i < count; ++i)
          spread_winners(s_, dy + (n + i) * pooled, winners + (n + i) * pooled,
                         spread + i * 4 * pooled);
        dz = spread;
      }
      const WeightGradientJob job{.spec = &s_,
                                  .x = {x.data + n * x.sample_pitch, x.row_pitch, x.sample_pitch},
                                  .starts = starts_.data(),
                                  .per_sample = pixels_,
                                  .segments = s_.window.height,
                                  .length = s_.window.width * s_.in.channels(),
                                  .pitch = x.row_pitch,
                                  .dz = dz,
                                  .dw = dw};
      pool_.split(filters, 6, [&](int64_t begin, int64_t end, int member) {
        HWY_DYNAMIC_DISPATCH(weight_gradient_filters)
        (job, 0, count, begin, end, strips + member * strip_floats());
      });
    }
  }

 private:
  int64_t strip_floats() const { return group_ * pixels_ * (s_.out.channels() / 6 + 1) * 6; }
  int64_t spread_floats() const { return s_.max_pool ? group_ * pixels_ * s_.out.channels() : 0; }

  ConvSpec s_;
  ThreadPool& pool_;
  int64_t pixels_;
  int64_t group_;
  int64_t pitch_ = -1;
  std::vector<int64_t> starts_;
};

class ImplicitGemmInputGradient final : public ConvInputGradient {
 public:
  ImplicitGemmInputGradient(const ConvSpec& spec, ThreadPool& pool)
      : s_(spec),
        pool_(pool),
        turns_(spec.window.stride_y == 1 && spec.window.stride_x == 1 &&
               spec.window.pad_y < spec.window.height && spec.window.pad_x < spec.window.width),
        width_(HWY_DYNAMIC_DISPATCH(channels_in_a_panel)()),
        panels_((spec.in.channels() + width_ - 1) / width_) {
    field_rows_ = s_.in.height() + s_.window.height - 1;
    field_columns_ = s_.in.width() + s_.window.width - 1;
    if (!turns_) starts_ = window_starts(s_, padded_columns() * s_.in.channels());
    for (int64_t y = 0; turns_ && y < s_.in.height(); ++y)
      for (int64_t x = 0; x < s_.in.width(); ++x)
        starts_.push_back((y * field_columns_ + x) * s_.out.channels());
  }

  const char* name() const override { return "implicit-gemm"; }

  size_t scratch_bytes() const override {
    const int64_t shared = turns_ ? panels_ * width_ * positions() * s_.out.channels() : 0;
    return static_cast<size_t>(shared + pool_.threads() * member_floats()) * sizeof(float);
  }

  void run(int64_t rows, const float* dy, const uint8_t* winners, const float* weights, float* dx,
           std::byte* scratch) override {
    float* panels = reinterpret_cast<float*>(scratch);
    const int64_t panel_floats = positions() * s_.out.channels() * width_;
    if (turns_)
      pool_.split(panels_, 1, [&](int64_t begin, int64_t end, int) {
        for (int64_t panel = begin; panel < end; ++panel) HWY_DYNAMIC_DISPATCH(pack_turned_filters)
        (weights, s_, panel, panels + panel * panel_floats);
      });
    float* own = panels + (turns_ ? panels_ * panel_floats : 0);
    pool_.split(rows, 1, [&](int64_t begin, int64_t end, int member) {
      for (int64_t n = begin; n < end; ++n) {
        const int64_t at = n * s_.result().elements();
        float* sample_dx = dx + n * s_.in.elements();
        float* memory = own + member * member_floats();
        if (turns_)
          turned(dy + at, winners ? winners + at : nullptr, panels, sample_dx, memory);
        else
          scattered(dy + at, winners ? winners + at : nullptr, weights, sample_dx, memory);
      }
    });
  }

 private:
  int64_t positions() const { return s_.window.height * s_.window.width; }
  int64_t field_floats() const { return field_rows_ * field_columns_ * s_.out.channels(); }
  int64_t column_floats() const { return pixels_of(s_) * s_.taps(); }
  int64_t spread_floats() const { return pixels_of(s_) * s_.out.channels(); }
  int64_t padded_columns() const {
    return std::max(window_extent(s_).columns, s_.in.width() + 2 * s_.window.pad_x);
  }
  int64_t padded_floats() const {
    return std::max(window_extent(s_).rows, s_.in.height() + 2 * s_.window.pad_y) *
           padded_columns() * s_.in.channels();
  }
  int64_t member_floats() const {
    const int64_t gemm = static_cast<int64_t>(gemm_scratch_bytes(1) / sizeof(float));
    return aligned_floats(turns_ ? field_floats()
                                 : column_floats() + spread_floats() + padded_floats() + gemm);
  }

  // Stride 1: dz with a border of zeros, convolved with the rotated filters.
  void turned(const float* dy, const uint8_t* winners, const float* panels, float* dx,
              float* field) const {
    const int64_t filters = s_.out.channels();
    std::fill(field, field + field_floats(), 0.0f);
    const auto place = [&](int64_t oy, int64_t ox) {
      const int64_t y = oy + s_.window.height - 1 - s_.window.pad_y;
      const int64_t x = ox + s_.window.width - 1 - s_.window.pad_x;
      return field + (y * field_columns_ + x) * filters;
    };
    if (!s_.max_pool) {
      for (int64_t oy = 0; oy < s_.out.height(); ++oy) {
        const float* from = dy + oy * s_.out.width() * filters;
        std::copy(from, from + s_.out.width() * filters, place(oy, 0));
      }
    } else {
      const Shape pooled = s_.result();
      for (int64_t i = 0; i < pooled.elements(); ++i) {
        if (winners[i] >= dead_winner) continue;  // NOLINT: max_pool comes with winners
        const int64_t position = i / filters;
        place(position / pooled.width() * 2 + winner_row(winners[i]),
              position % pooled.width() * 2 + winner_column(winners[i]))[i % filters] = dy[i];
      }
    }
    HWY_DYNAMIC_DISPATCH(convolve_one)
    (field, starts_.data(), static_cast<int64_t>(starts_.size()), s_.window.height,
     s_.window.width * filters, field_columns_ * filters, panels, s_.in.channels(), dx);
  }

  // Any stride: the gradient of each window, added at the window's position.
  void scattered(const float* dy, const uint8_t* winners, const float* weights, float* dx,
                 float* memory) const {
    const int64_t channels = s_.in.channels(), length = s_.window.width * channels;
    const int64_t columns = padded_columns();
    float* windows = memory;
    float* spread = windows + column_floats();
    float* padded = spread + spread_floats();
    float* gemm_memory = padded + padded_floats();
    if (s_.max_pool) spread_winners(s_, dy, winners, spread);
    run_alone({.m = pixels_of(s_),
               .n = s_.taps(),
               .k = s_.out.channels(),
               .a = row_major(s_.max_pool ? spread : dy, s_.out.channels()),
               .b = row_major(weights, s_.taps()),
               .c = windows,
               .c_stride = s_.taps()},
              reinterpret_cast<std::byte*>(gemm_memory));
    std::fill(padded, padded + padded_floats(), 0.0f);
    for (const int64_t start : starts_)
      for (int64_t ky = 0; ky < s_.window.height; ++ky, windows += length) {
        float* to = padded + start + ky * columns * channels;
        for (int64_t i = 0; i < length; ++i) to[i] += windows[i];
      }
    for (int64_t y = 0; y < s_.in.height(); ++y) {
      const float* from = padded + ((y + s_.window.pad_y) * columns + s_.window.pad_x) * channels;
      std::copy(from, from + s_.in.width() * channels, dx + y * s_.in.width() * channels);
    }
  }

  ConvSpec s_;
  ThreadPool& pool_;
  bool turns_;
  int64_t width_, panels_;
  int64_t field_rows_, field_columns_;
  std::vector<int64_t> starts_;  // of windows, in the field (turned) or in the padded image
};

double weight_gradient_cost(const ConvSpec& s) {
  // Rows of windows are computed in whole tiles; the unused part of the last tile is wasted.
  const double length = static_cast<double>(s.window.width * s.in.channels());
  const double wasted = 16 * std::ceil(length / 16) / length;
  return s.flops() / 75 * wasted;
}

double input_gradient_cost(const ConvSpec& s) {
  const int64_t pixels = s.in.height() * s.in.width() / (s.window.stride_y * s.window.stride_x);
  const double width = 16 * std::ceil(static_cast<double>(s.in.channels()) / 16);
  const double taps = static_cast<double>(s.window.height * s.window.width * s.out.channels());
  return 2 * static_cast<double>(pixels) * taps * width / 90;
}

}  // namespace

ConvCandidate<ConvWeightGradient> implicit_gemm_weight_gradient() {
  return {"implicit-gemm", weight_gradient_cost, [](const ConvSpec& s, ThreadPool& pool) {
            return std::unique_ptr<ConvWeightGradient>(
                std::make_unique<ImplicitGemmWeightGradient>(s, pool));
          }};
}

ConvCandidate<ConvInputGradient> implicit_gemm_input_gradient() {
  return {"implicit-gemm", input_gradient_cost, [](const ConvSpec& s, ThreadPool& pool) {
            return std::unique_ptr<ConvInputGradient>(
                std::make_unique<ImplicitGemmInputGradient>(s, pool));
          }};
}

}  // namespace lockstep
#endif
