#include "tensor/device/cpu/vector_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/device/cpu/vector_ops.cpp"
#include <hwy/foreach_target.h>
//
#include "tensor/device/cpu/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

void mask_dead(float* HWY_RESTRICT dy, const float* HWY_RESTRICT y, int64_t count) {
  const Floats d;
  int64_t i = 0;
  for (; i + lanes() <= count; i += lanes()) {
    const auto live = hn::Gt(hn::LoadU(d, y + i), hn::Zero(d));
    hn::StoreU(hn::IfThenElseZero(live, hn::LoadU(d, dy + i)), d, dy + i);
  }
  for (; i < count; ++i)
    if (!(y[i] > 0)) dy[i] = 0;
}

void add_arrays(float* HWY_RESTRICT into, const float* HWY_RESTRICT from, int64_t count) {
  const Floats d;
  int64_t i = 0;
  for (; i + lanes() <= count; i += lanes())
    hn::StoreU(hn::Add(hn::LoadU(d, into + i), hn::LoadU(d, from + i)), d, into + i);
  for (; i < count; ++i) into[i] += from[i];
}

void add_scaled_array(float* HWY_RESTRICT into, const float* HWY_RESTRICT from, float scale,
                      int64_t count) {
  const Floats d;
  const Vec factor = hn::Set(d, scale);
  int64_t i = 0;
  for (; i + lanes() <= count; i += lanes())
    hn::StoreU(hn::MulAdd(factor, hn::LoadU(d, from + i), hn::LoadU(d, into + i)), d, into + i);
  for (; i < count; ++i) into[i] += scale * from[i];
}

// Always sixteen partial sums, so that every machine adds in the same order.
double dot(const float* a, const float* b, int64_t count) {
  constexpr int64_t ways = 16;
  alignas(64) double sums[ways] = {};
  int64_t i = 0;
  for (; i + ways <= count; i += ways)
    for (int64_t j = 0; j < ways; ++j) sums[j] += double(a[i + j]) * b[i + j];
  for (; i < count; ++i) sums[i % ways] += double(a[i]) * b[i];
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

// Several vectors of columns at a time hide the latency of the additions.
template <int Vectors>
HWY_INLINE void sum_vectors(const float* matrix, int64_t rows, int64_t stride, int64_t columns,
                            float* sums, bool accumulate) {
  const Floats d;
  const int64_t last = (Vectors - 1) * lanes(), left = columns - last;
  Vec sum[Vectors];
  for (int v = 0; v < Vectors; ++v) sum[v] = hn::Zero(d);
  if (accumulate) {
    for (int v = 0; v < Vectors - 1; ++v) sum[v] = hn::LoadU(d, sums + v * lanes());
    sum[Vectors - 1] = load_part(sums + last, left);
  }
  for (int64_t row = 0; row < rows; ++row, matrix += stride) {
    for (int v = 0; v < Vectors - 1; ++v)
      sum[v] = hn::Add(sum[v], hn::LoadU(d, matrix + v * lanes()));
    sum[Vectors - 1] = hn::Add(sum[Vectors - 1], load_part(matrix + last, left));
  }
  for (int v = 0; v < Vectors - 1; ++v) hn::StoreU(sum[v], d, sums + v * lanes());
  store_part(sum[Vectors - 1], sums + last, left);
}

void sum_columns(const float* matrix, int64_t rows, int64_t stride, int64_t begin, int64_t end,
                 float* sums, bool accumulate) {
  for (int64_t c = begin; c < end;) {
    const int64_t columns = end - c;
    if (columns > 3 * lanes()) {
      sum_vectors<4>(matrix + c, rows, stride, columns, sums + c, accumulate);
      c += 4 * lanes();
    } else {
      sum_vectors<1>(matrix + c, rows, stride, columns, sums + c, accumulate);
      c += lanes();
    }
  }
}

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(mask_dead);
HWY_EXPORT(add_arrays);
HWY_EXPORT(add_scaled_array);
HWY_EXPORT(dot);
HWY_EXPORT(sum_columns);
HWY_EXPORT(target_name);

void mask_where_dead(float* dy, const float* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(mask_dead)(dy, y, count);
}

void add_to(float* into, const float* from, int64_t count) {
  HWY_DYNAMIC_DISPATCH(add_arrays)(into, from, count);
}

void add_scaled(float* into, const float* from, float scale, int64_t count) {
  HWY_DYNAMIC_DISPATCH(add_scaled_array)(into, from, scale, count);
}

double dot_product(const float* a, const float* b, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(dot)(a, b, count);
}

void column_sums(const float* matrix, int64_t rows, int64_t columns, float* sums, bool accumulate,
                 ThreadPool& pool) {
  pool.split(columns, 64, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(sum_columns)(matrix, rows, columns, begin, end, sums, accumulate);
  });
}

const char* instruction_set() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace lockstep
#endif
