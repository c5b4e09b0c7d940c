#include "os/buffer.h"
#include "tensor/device/cpu/conv/conv_algorithms.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/device/cpu/conv/conv_winner_masks.cpp"
#include <hwy/foreach_target.h>
//
#include "tensor/device/cpu/conv/window_tiles-inl.h"

// The weight gradient of a pooled convolution over few channels (a network's first). Rows of
// channels are too short for vectors, so vectors run over filters: at each pooled position the
// gradient is split into four by winner, and each tap multiplies them with inputs of four pixels.

#ifndef LOCKSTEP_WINNER_MASKS
#define LOCKSTEP_WINNER_MASKS
namespace lockstep {
struct WinnerMaskJob {
  const ConvSpec* spec;
  PaddedImages x;
  const int64_t* starts;  // of each pooled position's first window
  int64_t positions;
  const int64_t* tap_offsets;  // of each tap within a window
  int64_t pixel_offsets[4];    // of each winner's window
  const float* dy;
  const uint8_t* winners;
  int64_t rows;
  float* dw;
};
constexpr int most_taps_at_once = 9;
}  // namespace lockstep
#endif

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

// Sums of Taps taps, from `tap` on, for one vector of filters.
template <int Taps>
HWY_NOINLINE void sum_taps(const WinnerMaskJob& job, int64_t tap, int64_t f, float* sums) {
  const Floats d;
  const hn::RebindToSigned<Floats> di;
  const hn::Rebind<uint8_t, decltype(di)> d8;
  const int64_t filters = job.spec->out.channels(), left = filters - f;
  Vec sum[Taps];
  for (int t = 0; t < Taps; ++t) sum[t] = hn::Zero(d);
  HWY_ALIGN uint8_t bytes[64] = {};
  for (int64_t n = 0; n < job.rows; ++n) {
    const float* image = job.x.data + n * job.x.sample_pitch;
    for (int64_t p = 0; p < job.positions; ++p) {
      const int64_t at = (n * job.positions + p) * filters + f;
      const Vec g = load_part(job.dy + at, left);
      const uint8_t* winners = job.winners + at;
      if (left < lanes()) {
        for (int64_t i = 0; i < left; ++i) bytes[i] = winners[i];
        winners = bytes;
      }
      const auto winner = hn::PromoteTo(di, hn::LoadU(d8, winners));
      const float* window = image + job.starts[p];
      for (int k = 0; k < 4; ++k) {
        const auto mine = hn::RebindMask(d, hn::Eq(winner, hn::Set(di, k)));
        const Vec masked = hn::IfThenElseZero(mine, g);
        const float* pixel = window + job.pixel_offsets[k];
        for (int t = 0; t < Taps; ++t)
          sum[t] = hn::MulAdd(masked, hn::Set(d, pixel[job.tap_offsets[tap + t]]), sum[t]);
      }
    }
  }
  for (int t = 0; t < Taps; ++t) hn::StoreU(sum[t], d, sums + t * lanes());
}

void winner_mask_gradient(const WinnerMaskJob& job, int64_t f0, int64_t f1) {
  const int64_t taps = job.spec->taps();
  HWY_ALIGN float sums[most_taps_at_once * 16];
  for (int64_t f = f0; f < f1; f += lanes())
    for (int64_t tap = 0; tap < taps;) {
      const int64_t count = taps - tap >= 9 ? 9 : taps - tap >= 5 ? 5 : taps - tap >= 3 ? 3 : 1;
      switch (count) {
        case 9:
          sum_taps<9>(job, tap, f, sums);
          break;
        case 5:
          sum_taps<5>(job, tap, f, sums);
          break;
        case 3:
          sum_taps<3>(job, tap, f, sums);
          break;
        default:
          sum_taps<1>(job, tap, f, sums);
          break;
      }
      for (int64_t t = 0; t < count; ++t)
        for (int64_t i = 0; i < std::min(lanes(), f1 - f); ++i)
          job.dw[(f + i) * taps + tap + t] += sums[t * lanes() + i];
      tap += count;
    }
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(winner_mask_gradient);

namespace {

class WinnerMaskGradient final : public ConvWeightGradient {
 public:
  WinnerMaskGradient(const ConvSpec& spec, ThreadPool& pool) : s_(spec), pool_(pool) {}

  const char* name() const override { return "winner-masks"; }
  PaddedExtent extent() const override { return window_extent(s_); }
  size_t scratch_bytes() const override { return 0; }

  void run(int64_t rows, const PaddedImages& x, const float* dy, const uint8_t* winners, float* dw,
           bool accumulate, std::byte*) override {
    if (x.row_pitch != pitch_) lay_out(x.row_pitch);
    WinnerMaskJob job{.spec = &s_,
                      .x = x,
                      .starts = starts_.data(),
                      .positions = static_cast<int64_t>(starts_.size()),
                      .tap_offsets = tap_offsets_.data(),
                      .pixel_offsets = {},
                      .dy = dy,
                      .winners = winners,
                      .rows = rows,
                      .dw = dw};
    for (int k = 0; k < 4; ++k)
      job.pixel_offsets[k] =
          (k >> 1) * s_.window.stride_y * pitch_ + (k & 1) * s_.window.stride_x * s_.in.channels();
    pool_.split(s_.out.channels(), 16, [&](int64_t begin, int64_t end, int) {
      if (!accumulate) std::fill(dw + begin * s_.taps(), dw + end * s_.taps(), 0.0f);
      HWY_DYNAMIC_DISPATCH(winner_mask_gradient)(job, begin, end);
    });
  }

 private:
  void lay_out(int64_t pitch) {
    pitch_ = pitch;
    starts_.clear();
    tap_offsets_ = tap_offsets(s_, pitch);
    const std::vector<int64_t> all = window_starts(s_, pitch);
    for (size_t i = 0; i < all.size(); i += 4) starts_.push_back(all[i]);
  }

  ConvSpec s_;
  ThreadPool& pool_;
  int64_t pitch_ = -1;
  std::vector<int64_t> starts_, tap_offsets_;
};

double cost(const ConvSpec& s) {
  if (!s.max_pool) return -1;
  return static_cast<double>(s.result().elements()) * (0.3 + 0.13 * static_cast<double>(s.taps()));
}

}  // namespace

ConvCandidate<ConvWeightGradient> winner_mask_weight_gradient() {
  return {
      "winner-masks", cost, [](const ConvSpec& s, ThreadPool& pool) {
        return std::unique_ptr<ConvWeightGradient>(std::make_unique<WinnerMaskGradient>(s, pool));
      }};
}

}  // namespace lockstep
#endif
