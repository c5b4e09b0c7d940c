// Convolution forward as tiles: 6 windows × 2 vectors of filters. Included once for each
// instruction set.
#if defined(LOCKSTEP_WINDOW_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_WINDOW_TILES_INL_H_
#undef LOCKSTEP_WINDOW_TILES_INL_H_
#else
#define LOCKSTEP_WINDOW_TILES_INL_H_
#endif

#include "tensor/device/cpu/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

// Windows in memory: `segments` rows of `length` neighbouring floats each, `pitch` apart.
struct Windows {
  const float* data;
  const int64_t* starts;  // of each window of a sample
  int64_t per_sample, sample_pitch;
  int64_t segments, length, pitch;

  // The starts of windows first .. first + Rows - 1, counted across all samples.
  template <int Rows>
  HWY_INLINE void find(int64_t first, const float* (&rows)[Rows]) const {
    int64_t n = first / per_sample, p = first % per_sample;
    for (int r = 0; r < Rows; ++r) {
      rows[r] = data + n * sample_pitch + starts[p];
      if (++p == per_sample) p = 0, ++n;
    }
  }
};

// to[0 .. rows × 2 vectors] = the products of windows first .. first + rows - 1 with one panel of
// weights (segments × length × 2 vectors)
struct WindowTile {
  const Windows& windows;
  const float* panel;
  const float* bias;
  int64_t first;
  float* to;
  int64_t to_stride, columns;
  bool relu;

  template <int Rows>
  HWY_INLINE void run() const {
    const float* rows[Rows];
    windows.find(first, rows);
    Tile<Rows> tile;
    tile.clear();
    const float* b = panel;
    for (int64_t segment = 0; segment < windows.segments; ++segment) {
      tile.multiply(rows, 1, windows.length, b, tile_columns());
      b += windows.length * tile_columns();
      for (int r = 0; r < Rows; ++r) rows[r] += windows.pitch;
    }
    if (bias) tile.add_bias(bias);
    if (relu) tile.relu();
    tile.store(to, to_stride, columns);
  }
};

// y = the maximum of four vectors, with relu if wanted; winners = which of the four it is.
HWY_INLINE void pool_four(Vec v0, Vec v1, Vec v2, Vec v3, bool relu, float* y, uint8_t* winners,
                          int64_t left) {
  const Floats d;
  const hn::RebindToSigned<Floats> di;
  const hn::Rebind<uint8_t, decltype(di)> d8;
  const auto second = hn::Gt(v1, v0), fourth = hn::Gt(v3, v2);
  const Vec top = hn::Max(v0, v1), bottom = hn::Max(v2, v3);
  const auto lower = hn::Gt(bottom, top);
  Vec best = hn::Max(top, bottom);
  const auto one = hn::Set(di, 1);
  const auto in_top = hn::IfThenElseZero(hn::RebindMask(di, second), one);
  const auto in_bottom = hn::IfThenElse(hn::RebindMask(di, fourth), hn::Set(di, 3), hn::Set(di, 2));
  auto winner = hn::IfThenElse(hn::RebindMask(di, lower), in_bottom, in_top);
  if (relu) {
    const auto dead = hn::Le(best, hn::Zero(d));
    winner = hn::IfThenElse(hn::RebindMask(di, dead), hn::Set(di, 4), winner);
    best = hn::Max(best, hn::Zero(d));
  }
  store_part(best, y, left);
  const auto bytes = hn::DemoteTo(d8, winner);
  if (left >= lanes())
    hn::StoreU(bytes, d8, winners);
  else
    store_first(bytes, d8, winners, left);
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
