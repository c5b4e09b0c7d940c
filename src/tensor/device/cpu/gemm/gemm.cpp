#include "tensor/device/cpu/gemm/gemm.h"

#include "tensor/device/cpu/gemm/gemm_thin.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/device/cpu/gemm/gemm.cpp"
#include <hwy/foreach_target.h>
//
#include "tensor/device/cpu/gemm/tile-inl.h"

#ifndef LOCKSTEP_GEMM_BLOCKS
#define LOCKSTEP_GEMM_BLOCKS
namespace lockstep {
// A block of a (row_block × depth_block floats) stays in the second-level cache, a panel of b
// (depth_block × 2 vectors) in the first.
constexpr int64_t row_block = 288;
constexpr int64_t column_block = 1024;  // of c: stays in the third-level cache for all of k
constexpr int64_t widest_panel = 32;    // two AVX-512 vectors
constexpr int64_t packed_a_floats = depth_block * row_block + 16;
}  // namespace lockstep
#endif

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

// One tile of c from a strip of a and a panel of b.
struct TileJob {
  const float* a;
  int64_t a_row, a_step;
  const float* b;
  int64_t b_stride, depth;
  float* c;
  int64_t c_stride, columns;
  bool add;
  const float* bias;  // null except for the last block of the depth
  bool relu;

  template <int Rows>
  HWY_INLINE void run() const {
    const float* rows[Rows];
    for (int r = 0; r < Rows; ++r) rows[r] = a + r * a_row;
    Tile<Rows> tile;
    tile.clear();
    tile.multiply(rows, a_step, depth, b, b_stride);
    if (add) tile.add_from(c, c_stride, columns);
    if (bias) tile.add_bias(bias);
    if (relu) tile.relu();
    tile.store(c, c_stride, columns);
  }
};

// Packs strips of 6 rows of a, which is stored transposed: to[strip][i][6].
void pack_strips(const float* a, int64_t rows, int64_t step, int64_t depth, float* to) {
  for (int64_t first = 0; first < rows; first += tile_rows) {
    const int64_t count = std::min(rows - first, tile_rows);
    if (rows - first >= 8) {  // stores 8 at a time; the next store overwrites the last 2
      const hn::CappedTag<float, 8> d8;
      const int64_t half = static_cast<int64_t>(hn::Lanes(d8));
      for (int64_t i = 0; i < depth; ++i)
        for (int64_t r = 0; r < 8; r += half)
          hn::StoreU(hn::LoadU(d8, a + i * step + first + r), d8, to + i * tile_rows + r);
    } else {
      for (int64_t i = 0; i < depth; ++i)
        for (int64_t r = 0; r < count; ++r) to[i * tile_rows + r] = a[i * step + first + r];
    }
    to += depth * tile_rows;
  }
}

void pack_rows(const float* b, int64_t stride, int64_t columns, int64_t depth, float* to,
               int64_t width) {
  const Floats d;
  for (int64_t i = 0; i < depth; ++i, b += stride, to += width) {
    hn::StoreU(load_part(b, columns), d, to);
    hn::StoreU(columns > lanes() ? load_part(b + lanes(), columns - lanes()) : hn::Zero(d), d,
               to + lanes());
  }
}

// The same for row-major a: to[strip][i][6].
void pack_row_strips(const float* a, int64_t rows, int64_t stride, int64_t depth, float* to) {
  for (int64_t first = 0; first < rows; first += tile_rows, to += depth * tile_rows) {
    const int64_t count = std::min(rows - first, tile_rows);
    const float* from = a + first * stride;
    int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR  // which has no vectors of four
    const hn::CappedTag<float, 4> d4;
    if (count == tile_rows && hn::Lanes(d4) == 4) {
      for (; i + 4 <= depth; i += 4) {  // transposes 6 × 4 values in registers
        const auto r0 = hn::LoadU(d4, from + i), r1 = hn::LoadU(d4, from + stride + i);
        const auto r2 = hn::LoadU(d4, from + 2 * stride + i),
                   r3 = hn::LoadU(d4, from + 3 * stride + i);
        const auto r4 = hn::LoadU(d4, from + 4 * stride + i),
                   r5 = hn::LoadU(d4, from + 5 * stride + i);
        const auto p = hn::InterleaveLower(d4, r0, r2), q = hn::InterleaveLower(d4, r1, r3);
        const auto u = hn::InterleaveUpper(d4, r0, r2), v = hn::InterleaveUpper(d4, r1, r3);
        const auto low = hn::InterleaveLower(d4, r4, r5), high = hn::InterleaveUpper(d4, r4, r5);
        const hn::CappedTag<float, 2> d2;
        float* t = to + i * tile_rows;
        hn::StoreU(hn::InterleaveLower(d4, p, q), d4, t);
        hn::StoreU(hn::LowerHalf(d2, low), d2, t + 4);
        hn::StoreU(hn::InterleaveUpper(d4, p, q), d4, t + 6);
        hn::StoreU(hn::UpperHalf(d2, low), d2, t + 10);
        hn::StoreU(hn::InterleaveLower(d4, u, v), d4, t + 12);
        hn::StoreU(hn::LowerHalf(d2, high), d2, t + 16);
        hn::StoreU(hn::InterleaveUpper(d4, u, v), d4, t + 18);
        hn::StoreU(hn::UpperHalf(d2, high), d2, t + 22);
      }
    }
#endif
    for (; i < depth; ++i)
      for (int64_t r = 0; r < count; ++r) to[i * tile_rows + r] = from[r * stride + i];
  }
}

void gemm_block(const Gemm& g, int64_t m0, int64_t m1, int64_t n0, int64_t n1, float* scratch) {
  const int64_t width = tile_columns();
  float* packed_a = scratch;
  float* packed_b = scratch + packed_a_floats;
  float* padded_bias = packed_b + depth_block * widest_panel;
  // A strip that only a few panels read is not worth copying.
  const bool one_strip = m1 - m0 <= tile_rows && n1 - n0 <= 8 * width;
  const bool by_columns = g.a.column_stride != 1 && !one_strip;
  const bool by_rows = g.a.column_stride == 1 && g.a.row_stride >= 512 && n1 - n0 >= 32 * width &&
                       m1 - m0 >= 4 * tile_rows;
  const bool strips = by_columns || by_rows;
  for (int64_t j0 = n0; j0 < n1; j0 += column_block) {
    const int64_t j1 = std::min(n1, j0 + column_block);
    for (int64_t k0 = 0; k0 < g.k; k0 += depth_block) {
      const int64_t depth = std::min(depth_block, g.k - k0);
      const bool last = k0 + depth == g.k;
      for (int64_t i0 = m0; i0 < m1; i0 += row_block) {
        const int64_t i1 = std::min(m1, i0 + row_block);
        const float* a = g.a.data + i0 * g.a.row_stride + k0 * g.a.column_stride;
        if (by_columns) pack_strips(a, i1 - i0, g.a.column_stride, depth, packed_a);
        if (by_rows) pack_row_strips(a, i1 - i0, g.a.row_stride, depth, packed_a);
        for (int64_t j = j0; j < j1; j += width) {
          const int64_t columns = std::min(width, j1 - j);
          const float* b = g.b.data + k0 * g.b.row_stride + j * g.b.column_stride;
          // A whole panel that only a few tiles read is not worth copying.
          const bool direct =
              g.b.column_stride == 1 && columns == width && i1 - i0 <= 4 * tile_rows;
          if (g.b.column_stride != 1)
            transpose_panel(b, g.b.column_stride, columns, depth, packed_b, width);
          else if (!direct)
            pack_rows(b, g.b.row_stride, columns, depth, packed_b, width);
          const float* bias = last && g.bias ? g.bias + j : nullptr;
          if (bias && columns < width) {
            std::fill(std::copy(bias, bias + columns, padded_bias), padded_bias + width, 0.0f);
            bias = padded_bias;
          }
          for (int64_t i = i0; i < i1; i += tile_rows) {
            TileJob job{.a = strips ? packed_a + (i - i0) * depth : a + (i - i0) * g.a.row_stride,
                        .a_row = strips ? 1 : g.a.row_stride,
                        .a_step = strips ? tile_rows : g.a.column_stride,
                        .b = direct ? b : packed_b,
                        .b_stride = direct ? g.b.row_stride : width,
                        .depth = depth,
                        .c = g.c + i * g.c_stride + j,
                        .c_stride = g.c_stride,
                        .columns = columns,
                        .add = g.accumulate || k0 > 0,
                        .bias = bias,
                        .relu = last && g.relu};
            with_rows(i1 - i, job);
          }
        }
      }
    }
  }
}

int64_t panel_width() { return tile_columns(); }

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(gemm_block);
HWY_EXPORT(panel_width);

namespace {

constexpr int64_t scratch_floats = packed_a_floats + (depth_block + 1) * widest_panel;
constexpr int64_t narrow = 4;  // columns: a tile's vectors would be mostly empty

// A narrow result, computed as its transpose c^T = b^T a^T, which has wide rows.
void narrow_block(const Gemm& g, int64_t m0, int64_t m1, float* scratch) {
  constexpr int64_t block = 64;
  float turned[narrow * block];
  for (int64_t i0 = m0; i0 < m1; i0 += block) {
    const int64_t rows = std::min(block, m1 - i0);
    const Gemm turn{
        .m = g.n,
        .n = rows,
        .k = g.k,
        .a = {g.b.data, g.b.column_stride, g.b.row_stride},
        .b = {g.a.data + i0 * g.a.row_stride, g.a.column_stride, g.a.row_stride},
        .c = turned,
        .c_stride = block,
    };
    HWY_DYNAMIC_DISPATCH(gemm_block)(turn, 0, g.n, 0, rows, scratch);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < g.n; ++j) {
        float& c = g.c[(i0 + i) * g.c_stride + j];
        float value = turned[j * block + i];
        if (g.accumulate) value += c;
        if (g.bias) value += g.bias[j];
        c = g.relu ? std::max(value, 0.0f) : value;
      }
  }
}

// Rows m0..m1, columns n0..n1 of the result.
void block(const Gemm& g, int64_t m0, int64_t m1, int64_t n0, int64_t n1, float* scratch) {
  if (run_thin(g, m0, m1, n0, n1, scratch, scratch_floats)) return;
  if (g.n <= narrow && g.m > narrow)  // of the whole: the choice must not depend on the split
    narrow_block(g, m0, m1, scratch);
  else
    HWY_DYNAMIC_DISPATCH(gemm_block)(g, m0, m1, n0, n1, scratch);
}

}  // namespace

size_t gemm_scratch_bytes(int threads) {
  return static_cast<size_t>(threads) * scratch_floats * sizeof(float);
}

void run(const Gemm& gemm, ThreadPool& pool, std::byte* scratch) {
  float* memory = reinterpret_cast<float*>(scratch);
  const int64_t width = HWY_DYNAMIC_DISPATCH(panel_width)();
  // Wide results are split by columns, so that each thread packs its own panels of b.
  if (gemm.n >= 4 * width * pool.threads())
    pool.split(gemm.n, width, [&](int64_t begin, int64_t end, int member) {
      block(gemm, 0, gemm.m, begin, end, memory + member * scratch_floats);
    });
  else
    pool.split(gemm.m, 6, [&](int64_t begin, int64_t end, int member) {
      block(gemm, begin, end, 0, gemm.n, memory + member * scratch_floats);
    });
}

void run_alone(const Gemm& gemm, std::byte* scratch) {
  block(gemm, 0, gemm.m, 0, gemm.n, reinterpret_cast<float*>(scratch));
}

}  // namespace lockstep
#endif
