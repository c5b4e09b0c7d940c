#include "tensor/device/cpu/gemm/gemm_thin.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/device/cpu/gemm/gemm_thin.cpp"
#include <hwy/foreach_target.h>
//
#include "tensor/device/cpu/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

// One row of c, columns n0 up to n1, where b is stored transposed: one dot product per column.
void row_block_dot_b(const Gemm& g, int64_t n0, int64_t n1) {
  const Floats d;
  constexpr int64_t at_once = 4;
  const float* a = g.a.data;
  for (int64_t j = n0; j < n1; j += at_once) {
    const int64_t count = std::min(at_once, n1 - j);
    const float* b[at_once];
    Vec sums[2 * at_once];
    for (int64_t r = 0; r < at_once; ++r) {
      b[r] = g.b.data + (j + std::min(r, count - 1)) * g.b.column_stride;
      sums[2 * r] = sums[2 * r + 1] = hn::Zero(d);
    }
    int64_t k = 0;
    for (; k + 2 * lanes() <= g.k; k += 2 * lanes()) {
      const Vec a0 = hn::LoadU(d, a + k), a1 = hn::LoadU(d, a + k + lanes());
      for (int64_t r = 0; r < at_once; ++r) {
        sums[2 * r] = hn::MulAdd(a0, hn::LoadU(d, b[r] + k), sums[2 * r]);
        sums[2 * r + 1] = hn::MulAdd(a1, hn::LoadU(d, b[r] + k + lanes()), sums[2 * r + 1]);
      }
    }
    for (; k < g.k; k += lanes())
      for (int64_t r = 0; r < at_once; ++r)
        sums[2 * r] =
            hn::MulAdd(load_part(a + k, g.k - k), load_part(b[r] + k, g.k - k), sums[2 * r]);
    for (int64_t r = 0; r < count; ++r) {
      float value = hn::GetLane(hn::SumOfLanes(d, hn::Add(sums[2 * r], sums[2 * r + 1])));
      if (g.accumulate) value += g.c[j + r];
      if (g.bias) value += g.bias[j + r];
      g.c[j + r] = g.relu ? std::max(value, 0.0f) : value;
    }
  }
}

// One row of c, columns n0 up to n1: reads a few rows of b at a time from end to end, which suits
// the memory. Sums are in the same order as in gemm_block.
void row_block_times_b(const Gemm& g, int64_t n0, int64_t n1, float* sums) {
  const Floats d;
  constexpr int64_t at_once = 8;
  for (int64_t k0 = 0; k0 < g.k; k0 += depth_block) {
    const int64_t k1 = std::min(g.k, k0 + depth_block);
    std::fill(sums, sums + (n1 - n0), 0.0f);
    for (int64_t k = k0; k < k1; k += at_once) {
      const int64_t rows = std::min(at_once, k1 - k);
      const float* b = g.b.data + k * g.b.row_stride + n0;
      Vec a[at_once];
      for (int64_t r = 0; r < at_once; ++r)
        a[r] = r < rows ? hn::Set(d, g.a.data[(k + r) * g.a.column_stride]) : hn::Zero(d);
      for (int64_t j = 0; j < n1 - n0; j += lanes()) {
        const int64_t left = n1 - n0 - j;
        Vec sum = load_part(sums + j, left);
        if (rows == at_once && left >= lanes()) {
          for (int64_t r = 0; r < at_once; ++r)
            sum = hn::MulAdd(a[r], hn::LoadU(d, b + r * g.b.row_stride + j), sum);
        } else {
          for (int64_t r = 0; r < rows; ++r)
            sum = hn::MulAdd(a[r], load_part(b + r * g.b.row_stride + j, left), sum);
        }
        store_part(sum, sums + j, left);
      }
    }
    const bool last = k1 == g.k, add = g.accumulate || k0 > 0;
    for (int64_t j = n0; j < n1; ++j) {
      float value = sums[j - n0];
      if (add) value += g.c[j];
      if (last && g.bias) value += g.bias[j];
      g.c[j] = last && g.relu ? std::max(value, 0.0f) : value;
    }
  }
}

// Sums of few terms: the rows of b stay in registers for all rows of a.
template <int Depth, bool Right>
HWY_INLINE void shallow_panel(const Gemm& g, int64_t m0, int64_t m1, int64_t j, int64_t columns) {
  const Floats d;
  HWY_ALIGN float turned[Depth * 32];
  const float* b = g.b.data + j * g.b.column_stride;
  int64_t b_stride = g.b.row_stride;
  if (g.b.column_stride != 1) {
    transpose_panel(b, g.b.column_stride, columns, Depth, turned, tile_columns());
    b = turned;
    b_stride = tile_columns();
  }
  const auto left_of = [&](const float* row) { return load_part(row, columns); };
  const auto right_of = [&](const float* row) {
    return Right ? load_part(row + lanes(), columns - lanes()) : hn::Zero(d);
  };
  Vec b0[Depth], b1[Depth];
  for (int i = 0; i < Depth; ++i) {
    b0[i] = left_of(b + i * b_stride);
    b1[i] = right_of(b + i * b_stride);
  }
  const Vec bias0 = g.bias ? left_of(g.bias + j) : hn::Zero(d);
  const Vec bias1 = g.bias ? right_of(g.bias + j) : hn::Zero(d);
  const Gemm local = g;  // a copy, which no store through c can change
  const float* a = local.a.data + m0 * local.a.row_stride;
  float* c = local.c + m0 * local.c_stride + j;
  for (int64_t row = m0; row < m1; ++row, a += local.a.row_stride, c += local.c_stride) {
    Vec left = hn::Zero(d), right = hn::Zero(d);
    for (int i = 0; i < Depth; ++i) {
      const Vec value = hn::Set(d, a[i * local.a.column_stride]);
      left = hn::MulAdd(value, b0[i], left);
      if (Right) right = hn::MulAdd(value, b1[i], right);
    }
    if (local.accumulate) {
      left = hn::Add(left, left_of(c));
      if (Right) right = hn::Add(right, right_of(c));
    }
    if (local.bias) {
      left = hn::Add(left, bias0);
      right = hn::Add(right, bias1);
    }
    if (local.relu) {
      left = hn::Max(left, hn::Zero(d));
      right = hn::Max(right, hn::Zero(d));
    }
    store_part(left, c, Right ? lanes() : columns);
    if (Right) store_part(right, c + lanes(), columns - lanes());
  }
}

template <int Depth>
void shallow_block(const Gemm& g, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
  for (int64_t j = n0; j < n1; j += tile_columns()) {
    const int64_t columns = std::min(tile_columns(), n1 - j);
    if (columns > lanes())
      shallow_panel<Depth, true>(g, m0, m1, j, columns);
    else
      shallow_panel<Depth, false>(g, m0, m1, j, columns);
  }
}

void shallow_columns(const Gemm& g, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
  switch (g.k) {
    case 1:
      return shallow_block<1>(g, m0, m1, n0, n1);
    case 2:
      return shallow_block<2>(g, m0, m1, n0, n1);
    case 3:
      return shallow_block<3>(g, m0, m1, n0, n1);
    default:
      return shallow_block<4>(g, m0, m1, n0, n1);
  }
}

// A few columns: dot products with the rows of a. At most eight lanes, so that AVX2 and AVX-512
// agree. b_columns: the columns of b, each padded with zeros from k to k_padded floats.
template <int Columns>
HWY_INLINE void narrow_rows(const Gemm& g, int64_t m0, int64_t m1, const float* b_columns,
                            int64_t k_padded) {
  const hn::CappedTag<float, 8> d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d)), whole = g.k / step * step;
  const Gemm local = g;
  const float* a = local.a.data + m0 * local.a.row_stride;
  float* c = local.c + m0 * local.c_stride;
  for (int64_t row = m0; row < m1; ++row, a += local.a.row_stride, c += local.c_stride) {
    hn::Vec<decltype(d)> sums[Columns];
    for (auto& sum : sums) sum = hn::Zero(d);
    const auto add = [&](auto values, const float* b) HWY_ATTR {
      for (int j = 0; j < Columns; ++j)
        sums[j] = hn::MulAdd(values, hn::LoadU(d, b + j * k_padded), sums[j]);
    };
    for (int64_t k = 0; k < whole; k += step) add(hn::LoadU(d, a + k), b_columns + k);
    if (whole < local.k) add(load_first(d, a + whole, local.k - whole), b_columns + whole);
    for (int j = 0; j < Columns; ++j) {
      float value = hn::GetLane(hn::SumOfLanes(d, sums[j]));
      if (local.accumulate) value += c[j];
      if (local.bias) value += local.bias[j];
      c[j] = local.relu ? std::max(value, 0.0f) : value;
    }
  }
}

void narrow_columns(const Gemm& g, int64_t m0, int64_t m1, float* b_columns, int64_t k_padded) {
  for (int64_t j = 0; j < g.n; ++j) {
    float* column = b_columns + j * k_padded;
    for (int64_t k = 0; k < g.k; ++k)
      column[k] = g.b.data[k * g.b.row_stride + j * g.b.column_stride];
    std::fill(column + g.k, column + k_padded, 0.0f);
  }
  switch (g.n) {
    case 1:
      return narrow_rows<1>(g, m0, m1, b_columns, k_padded);
    case 2:
      return narrow_rows<2>(g, m0, m1, b_columns, k_padded);
    case 3:
      return narrow_rows<3>(g, m0, m1, b_columns, k_padded);
    default:
      return narrow_rows<4>(g, m0, m1, b_columns, k_padded);
  }
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(row_block_dot_b);
HWY_EXPORT(row_block_times_b);
HWY_EXPORT(shallow_columns);
HWY_EXPORT(narrow_columns);

bool run_thin(const Gemm& g, int64_t m0, int64_t m1, int64_t n0, int64_t n1, float* scratch,
              int64_t scratch_floats) {
  // Conditions are about the whole product: they must not depend on how threads split it.
  constexpr int64_t few = 4, many_columns = 32;
  const int64_t k_padded = (g.k + 7) / 8 * 8;
  if (g.k >= 1 && g.k <= few && g.n > few) {
    HWY_DYNAMIC_DISPATCH(shallow_columns)(g, m0, m1, n0, n1);
  } else if (g.n >= 1 && g.n <= few && g.a.column_stride == 1 && g.n * k_padded <= scratch_floats) {
    HWY_DYNAMIC_DISPATCH(narrow_columns)(g, m0, m1, scratch, k_padded);
  } else if (g.m == 1 && g.a.column_stride == 1 && g.b.row_stride == 1 && g.n > many_columns) {
    HWY_DYNAMIC_DISPATCH(row_block_dot_b)(g, n0, n1);
  } else if (g.m == 1 && g.b.column_stride == 1 && g.n > many_columns) {
    for (int64_t j = n0; j < n1; j += scratch_floats)
      HWY_DYNAMIC_DISPATCH(row_block_times_b)(g, j, std::min(n1, j + scratch_floats), scratch);
  } else {
    return false;
  }
  return true;
}

}  // namespace lockstep
#endif
