// Inner loop of matrix products: a tile of up to 6 rows × 2 vectors held in registers. Included
// once for each instruction set (Highway's foreach_target).
#if defined(LOCKSTEP_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_TILE_INL_H_
#undef LOCKSTEP_TILE_INL_H_
#else
#define LOCKSTEP_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using Vec = hn::Vec<Floats>;

constexpr int64_t tile_rows = 6;  // 6 × 2 sums, 2 of b and 1 of a fill AVX2's 16 registers

HWY_INLINE int64_t lanes() { return static_cast<int64_t>(hn::Lanes(Floats())); }
HWY_INLINE int64_t tile_columns() { return 2 * lanes(); }

// Loads the first `left` lanes, fewer than all; the others are 0. With 128-bit vectors Highway
// would read all lanes, possibly from memory that is not ours.
template <typename D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_first(D d, const T* from, int64_t left) {
  if constexpr (HWY_MAX_BYTES > 16) {
    return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(left)), d, from);
  } else {
    HWY_ALIGN T part[HWY_MAX_BYTES / sizeof(T)] = {};
    std::copy_n(from, left, part);
    return hn::Load(d, part);
  }
}

template <typename D, typename T = hn::TFromD<D>>
HWY_INLINE void store_first(hn::Vec<D> value, D d, T* to, int64_t left) {
  if constexpr (HWY_MAX_BYTES > 16) {
    hn::BlendedStore(value, hn::FirstN(d, static_cast<size_t>(left)), d, to);
  } else {
    HWY_ALIGN T part[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(value, d, part);
    std::copy_n(part, left, to);
  }
}

// The same for any `left`, all lanes if it is larger.
HWY_INLINE Vec load_part(const float* from, int64_t left) {
  const Floats d;
  return left >= lanes() ? hn::LoadU(d, from) : load_first(d, from, left);
}

HWY_INLINE void store_part(Vec value, float* to, int64_t left) {
  const Floats d;
  if (left >= lanes())
    hn::StoreU(value, d, to);
  else
    store_first(value, d, to, left);
}

template <int Rows>
struct Tile {
  Vec left[Rows], right[Rows];

  HWY_INLINE void clear() {
    for (int r = 0; r < Rows; ++r) left[r] = right[r] = hn::Zero(Floats());
  }

  // += a[r][i * step] * b[i * b_stride .. + 2 vectors], summed over i < count
  HWY_INLINE void multiply(const float* const (&a)[Rows], int64_t step, int64_t count,
                           const float* HWY_RESTRICT b, int64_t b_stride) {
    const Floats d;
    int64_t at = 0;
    for (int64_t i = 0; i < count; ++i) {
      const Vec b0 = hn::LoadU(d, b), b1 = hn::LoadU(d, b + lanes());
      b += b_stride;
      for (int r = 0; r < Rows; ++r) {
        const Vec value = hn::Set(d, a[r][at]);
        left[r] = hn::MulAdd(value, b0, left[r]);
        right[r] = hn::MulAdd(value, b1, right[r]);
      }
      at += step;
    }
  }

  HWY_INLINE void add_bias(const float* bias) {
    const Vec b0 = hn::LoadU(Floats(), bias), b1 = hn::LoadU(Floats(), bias + lanes());
    for (int r = 0; r < Rows; ++r) {
      left[r] = hn::Add(left[r], b0);
      right[r] = hn::Add(right[r], b1);
    }
  }

  HWY_INLINE void relu() {
    for (int r = 0; r < Rows; ++r) {
      left[r] = hn::Max(left[r], hn::Zero(Floats()));
      right[r] = hn::Max(right[r], hn::Zero(Floats()));
    }
  }

  // Only the first `columns` are read or written.
  HWY_INLINE void add_from(const float* c, int64_t stride, int64_t columns) {
    for (int r = 0; r < Rows; ++r, c += stride) {
      left[r] = hn::Add(left[r], load_part(c, columns));
      if (columns > lanes())
        right[r] = hn::Add(right[r], load_part(c + lanes(), columns - lanes()));
    }
  }

  HWY_INLINE void store(float* c, int64_t stride, int64_t columns) const {
    for (int r = 0; r < Rows; ++r, c += stride) {
      store_part(left[r], c, columns);
      if (columns > lanes()) store_part(right[r], c + lanes(), columns - lanes());
    }
  }
};

// Calls body.run<min(rows, 6)>().
template <typename Body>
HWY_INLINE void with_rows(int64_t rows, const Body& body) {
  switch (rows) {
    case 1:
      return body.template run<1>();
    case 2:
      return body.template run<2>();
    case 3:
      return body.template run<3>();
    case 4:
      return body.template run<4>();
    case 5:
      return body.template run<5>();
    default:
      return body.template run<6>();
  }
}

// to[i * width + j] = from[j * stride + i] for j < columns, 0 for the rest of the width: stores the
// transpose of `columns` rows of `from` as a panel. Works in 4 × 4 blocks.
HWY_INLINE void transpose_panel(const float* from, int64_t stride, int64_t columns, int64_t count,
                                float* to, int64_t width) {
  int64_t j = 0;
#if HWY_TARGET != HWY_SCALAR  // which has no vectors of four
  const hn::CappedTag<float, 4> d4;
  if (hn::Lanes(d4) == 4) {
    for (; j + 4 <= columns; j += 4) {
      const float* f = from + j * stride;
      int64_t i = 0;
      for (; i + 4 <= count; i += 4) {
        const auto r0 = hn::LoadU(d4, f + i), r1 = hn::LoadU(d4, f + stride + i);
        const auto r2 = hn::LoadU(d4, f + 2 * stride + i), r3 = hn::LoadU(d4, f + 3 * stride + i);
        const auto a = hn::InterleaveLower(d4, r0, r2), b = hn::InterleaveLower(d4, r1, r3);
        const auto c = hn::InterleaveUpper(d4, r0, r2), e = hn::InterleaveUpper(d4, r1, r3);
        float* t = to + i * width + j;
        hn::StoreU(hn::InterleaveLower(d4, a, b), d4, t);
        hn::StoreU(hn::InterleaveUpper(d4, a, b), d4, t + width);
        hn::StoreU(hn::InterleaveLower(d4, c, e), d4, t + 2 * width);
        hn::StoreU(hn::InterleaveUpper(d4, c, e), d4, t + 3 * width);
      }
      for (; i < count; ++i)
        for (int64_t q = 0; q < 4; ++q) to[i * width + j + q] = f[q * stride + i];
    }
  }
#endif
  for (; j < columns; ++j)
    for (int64_t i = 0; i < count; ++i) to[i * width + j] = from[j * stride + i];
  for (; j < width; ++j)
    for (int64_t i = 0; i < count; ++i) to[i * width + j] = 0;
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
