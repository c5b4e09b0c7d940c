#include "tensor/device/cpu/gemm/gemm.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/rng.h"

namespace lockstep {
namespace {

struct Case {
  int64_t m, n, k;
  bool transposed_a, transposed_b, accumulate;

  std::string name() const {
    return fmt::format("{}x{}x{}{}{}{}", m, n, k, transposed_a ? " a^T" : "",
                       transposed_b ? " b^T" : "", accumulate ? " +=" : "");
  }
};

std::vector<float> random_floats(int64_t count, uint64_t seed) {
  std::vector<float> values(static_cast<size_t>(count));
  Rng rng(seed, Purpose::initial_weights, 0, 0);
  for (float& value : values) value = static_cast<float>(2 * rng.uniform() - 1);
  return values;
}

struct Operands {
  explicit Operands(const Case& c)
      : a(random_floats(c.m * c.k, 1)),
        b(random_floats(c.k * c.n, 2)),
        start(random_floats(c.m * c.n, 3)) {}

  std::vector<float> a, b, start;
};

std::vector<float> product(const Case& c, const Operands& o, int threads) {
  ThreadPool pool(threads);
  std::vector<std::byte> scratch(gemm_scratch_bytes(threads) + 64);
  void* aligned = scratch.data();
  size_t space = scratch.size();
  std::align(64, gemm_scratch_bytes(threads), aligned, space);
  std::vector<float> result = o.start;
  run({.m = c.m,
       .n = c.n,
       .k = c.k,
       .a = c.transposed_a ? transposed(o.a.data(), c.m) : row_major(o.a.data(), c.k),
       .b = c.transposed_b ? transposed(o.b.data(), c.k) : row_major(o.b.data(), c.n),
       .c = result.data(),
       .c_stride = c.n,
       .accumulate = c.accumulate},
      pool, static_cast<std::byte*>(aligned));
  return result;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const int64_t shapes[][3] = {{12, 3, 600},  {13, 4, 300},   {7, 1, 520}, {1, 66, 700},
                               {1, 130, 300}, {1, 2000, 300}, {40, 33, 3}, {65, 70, 600},
                               {6, 500, 257}, {25, 16, 1000}, {5, 5, 5},   {1, 40, 1000}};
  for (const auto& [m, n, k] : shapes)
    for (const bool transposed_a : {false, true})
      for (const bool transposed_b : {false, true})
        for (const bool accumulate : {false, true})
          cases.push_back({m, n, k, transposed_a, transposed_b, accumulate});
  return cases;
}

TEST(Gemm, GivesTheSameBitsForAnyNumberOfThreads) {
  for (const Case& c : all_cases()) {
    const Operands operands(c);
    const std::vector<float> one = product(c, operands, 1);
    for (const int threads : {2, 3, 4, 7})
      EXPECT_EQ(product(c, operands, threads), one) << c.name() << " on " << threads;
  }
}

TEST(Gemm, AgreesWithSumsInDouble) {
  for (const Case& c : all_cases()) {
    const Operands o(c);
    const std::vector<float> result = product(c, o, 1);
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j) {
        double sum = c.accumulate ? o.start[static_cast<size_t>(i * c.n + j)] : 0;
        for (int64_t p = 0; p < c.k; ++p)
          sum += static_cast<double>(
                     o.a[static_cast<size_t>(c.transposed_a ? p * c.m + i : i * c.k + p)]) *
                 o.b[static_cast<size_t>(c.transposed_b ? j * c.k + p : p * c.n + j)];
        ASSERT_NEAR(result[static_cast<size_t>(i * c.n + j)], sum, 2e-5) << c.name();
      }
  }
}

}  // namespace
}  // namespace lockstep
