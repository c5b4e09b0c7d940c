#include "os/buffer.h"
#include "tensor/device/cpu/conv/conv_algorithms.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/device/cpu/conv/conv_tap_rows.cpp"
#include <hwy/foreach_target.h>
//
#include "tensor/device/cpu/conv/window_tiles-inl.h"

// The weight gradient with taps as rows and filters as columns: both the image and dz are read in
// place. For few channels, whose rows of taps are too short to be the columns.

#ifndef LOCKSTEP_TAP_ROWS
#define LOCKSTEP_TAP_ROWS
namespace lockstep {
struct TapRowsJob {
  const ConvSpec* spec;
  PaddedImages x;
  const int64_t* starts;
  int64_t pixels;              // per sample
  const int64_t* tap_offsets;  // within a window
  const float* dz;
  int64_t rows;
  float* dw;
};
}  // namespace lockstep
#endif

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

struct TapTile {
  const TapRowsJob& job;
  int64_t tap, f, columns;

  template <int Rows>
  HWY_INLINE void run() const {
    columns == tile_columns() ? sum<Rows, true>() : sum<Rows, false>();
  }

  template <int Rows, bool Whole>
  HWY_INLINE void sum() const {
    const Floats d;
    const int64_t filters = job.spec->out.channels(), taps = job.spec->taps();
    Tile<Rows> tile;
    tile.clear();
    int64_t offset[Rows];
    for (int r = 0; r < Rows; ++r) offset[r] = job.tap_offsets[tap + r];
    const float* dz = job.dz + f;
    for (int64_t n = 0; n < job.rows; ++n) {
      const float* image = job.x.data + n * job.x.sample_pitch;
      for (int64_t p = 0; p < job.pixels; ++p, dz += filters) {
        const Vec g0 = Whole ? hn::LoadU(d, dz) : load_part(dz, columns);
        const Vec g1 = Whole               ? hn::LoadU(d, dz + lanes())
                       : columns > lanes() ? load_part(dz + lanes(), columns - lanes())
                                           : hn::Zero(d);
        const float* window = image + job.starts[p];
        for (int r = 0; r < Rows; ++r) {
          const Vec value = hn::Set(d, window[offset[r]]);
          tile.left[r] = hn::MulAdd(value, g0, tile.left[r]);
          tile.right[r] = hn::MulAdd(value, g1, tile.right[r]);
        }
      }
    }
    HWY_ALIGN float sums[Rows * 32];
    tile.store(sums, tile_columns(), tile_columns());
    for (int r = 0; r < Rows; ++r)
      for (int64_t i = 0; i < columns; ++i)
        job.dw[(f + i) * taps + tap + r] += sums[r * tile_columns() + i];
  }
};

void tap_rows_gradient(const TapRowsJob& job, int64_t f0, int64_t f1) {
  for (int64_t f = f0; f < f1; f += tile_columns())
    for (int64_t tap = 0; tap < job.spec->taps(); tap += tile_rows)
      with_rows(
          job.spec->taps() - tap,
          TapTile{.job = job, .tap = tap, .f = f, .columns = std::min(tile_columns(), f1 - f)});
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(tap_rows_gradient);

namespace {

class TapRowsGradient final : public ConvWeightGradient {
 public:
  TapRowsGradient(const ConvSpec& spec, ThreadPool& pool) : s_(spec), pool_(pool) {}

  const char* name() const override { return "tap-rows"; }
  PaddedExtent extent() const override { return window_extent(s_); }
  size_t scratch_bytes() const override { return 0; }

  void run(int64_t rows, const PaddedImages& x, const float* dy, const uint8_t*, float* dw,
           bool accumulate, std::byte*) override {
    if (x.row_pitch != pitch_) {
      pitch_ = x.row_pitch;
      starts_ = window_starts(s_, pitch_);
      tap_offsets_ = tap_offsets(s_, pitch_);
    }
    const TapRowsJob job{.spec = &s_,
                         .x = x,
                         .starts = starts_.data(),
                         .pixels = static_cast<int64_t>(starts_.size()),
                         .tap_offsets = tap_offsets_.data(),
                         .dz = dy,
                         .rows = rows,
                         .dw = dw};
    pool_.split(s_.out.channels(), 32, [&](int64_t begin, int64_t end, int) {
      if (!accumulate) std::fill(dw + begin * s_.taps(), dw + end * s_.taps(), 0.0f);
      HWY_DYNAMIC_DISPATCH(tap_rows_gradient)(job, begin, end);
    });
  }

 private:
  ConvSpec s_;
  ThreadPool& pool_;
  int64_t pitch_ = -1;
  std::vector<int64_t> starts_, tap_offsets_;
};

double cost(const ConvSpec& s) {
  if (s.max_pool || s.taps() > 128) return -1;
  return s.flops() / 55;
}

}  // namespace

ConvCandidate<ConvWeightGradient> tap_rows_weight_gradient() {
  return {"tap-rows", cost, [](const ConvSpec& s, ThreadPool& pool) {
            return std::unique_ptr<ConvWeightGradient>(std::make_unique<TapRowsGradient>(s, pool));
          }};
}

}  // namespace lockstep
#endif
