// Shared by the Winograd algorithms. Included once for each instruction set.
#if defined(LOCKSTEP_WINOGRAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_WINOGRAD_INL_H_
#undef LOCKSTEP_WINOGRAD_INL_H_
#else
#define LOCKSTEP_WINOGRAD_INL_H_
#endif

#include "tensor/device/cpu/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

constexpr int64_t tile_points = 16;

// V = B^T tile B of one 4 × 4 tile, for all channels: v[point * stride + channel]
HWY_INLINE void transform_tile(const float* tile, int64_t pitch, int64_t channels, float* v,
                               int64_t stride) {
  for (int64_t c = 0; c < channels; c += lanes()) {
    const int64_t left = channels - c;
    Vec half[4][4];  // B^T tile
    for (int x = 0; x < 4; ++x) {
      const float* at = tile + x * channels + c;
      const Vec d0 = load_part(at, left), d1 = load_part(at + pitch, left);
      const Vec d2 = load_part(at + 2 * pitch, left), d3 = load_part(at + 3 * pitch, left);
      half[0][x] = hn::Sub(d0, d2);
      half[1][x] = hn::Add(d1, d2);
      half[2][x] = hn::Sub(d2, d1);
      half[3][x] = hn::Sub(d1, d3);
    }
    for (int r = 0; r < 4; ++r) {
      float* to = v + r * 4 * stride + c;
      store_part(hn::Sub(half[r][0], half[r][2]), to, left);
      store_part(hn::Add(half[r][1], half[r][2]), to + stride, left);
      store_part(hn::Sub(half[r][2], half[r][1]), to + 2 * stride, left);
      store_part(hn::Sub(half[r][1], half[r][3]), to + 3 * stride, left);
    }
  }
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
