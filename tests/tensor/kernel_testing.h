#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/rng.h"
#include "os/buffer.h"
#include "tensor/device/cpu/cpu_device.h"
#include "tensor/device/reference/reference_device.h"
#include "tensor/touched_rows.h"

namespace lockstep {

inline std::vector<float> random_values(int64_t count, uint64_t stream, float scale = 1) {
  Rng rng(7, Purpose::initial_weights, stream);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = scale * static_cast<float>(2 * rng.uniform() - 1);
  return values;
}

// Sizes of a kernel's operands, in floats; `in` and `out` per row. There may be fewer rows than the
// batch.
struct Sizes {
  int64_t batch, rows, in, out, weights, state = 0;
};

struct Inputs {
  std::vector<float> x, dy, weights, state;
  explicit Inputs(const Sizes& s)
      : x(random_values(s.batch * s.in, 1)),
        dy(random_values(s.batch * s.out, 2)),
        weights(random_values(s.weights, 3)),
        state(static_cast<size_t>(s.state), 0.5f) {}
};

struct Outputs {
  std::vector<float> y, dx, gradients, state;
};

// One forward and one backward pass, with exactly the memory that the kernel needs.
inline Outputs run_kernel(Kernel& kernel, const Sizes& s, const Inputs& in, bool wants_dx = true,
                          bool accumulate = false, bool training = true,
                          const SparseRows* sparse = nullptr, TouchedRows* touched = nullptr) {
  Outputs out{.y = std::vector<float>(static_cast<size_t>(s.rows * s.out)),
              .dx = std::vector<float>(static_cast<size_t>(wants_dx ? s.rows * s.in : 0), 99.0f),
              .gradients = random_values(s.weights, 4),
              .state = in.state};
  std::vector<float> dy = in.dy;
  std::vector<int64_t> ids(static_cast<size_t>(s.rows));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i * i + 3);
  const Buffer stash(kernel.needs().stash), scratch(kernel.needs().scratch);
  Pass p;
  p.rows = s.rows;
  p.x = in.x.data();
  if (sparse) p.sparse = *sparse;
  p.touched = touched;
  p.y = out.y.data();
  p.dy = dy.data();
  p.dx = wants_dx ? out.dx.data() : nullptr;
  p.weights = in.weights.data();
  p.gradients = out.gradients.data();
  p.state = out.state.data();
  p.stash = stash.data();
  p.scratch = scratch.data();
  p.accumulate = accumulate;
  p.training = training;
  p.keys = {.seed = 5, .epoch = 2, .ids = ids};
  kernel.forward(p);
  if (training) kernel.backward(p);
  return out;
}

// Errors are relative to the largest expected value.
inline void expect_near(const std::vector<float>& got, const std::vector<float>& expected,
                        const std::string& what, double tolerance = 2e-5) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  double largest = 1e-3;
  for (const float value : expected) largest = std::max(largest, double(std::abs(value)));
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], tolerance * largest) << what << " at " << i;
}

inline void expect_same(const Outputs& got, const Outputs& expected, const std::string& what,
                        double tolerance = 2e-5) {
  expect_near(got.y, expected.y, what + ": y", tolerance);
  expect_near(got.dx, expected.dx, what + ": dx", tolerance);
  expect_near(got.gradients, expected.gradients, what + ": gradients", tolerance);
  expect_near(got.state, expected.state, what + ": state", tolerance);
}

}  // namespace lockstep
