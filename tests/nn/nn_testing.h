#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "base/rng.h"
#include "nn/program.h"

namespace lockstep {

inline double largest_of(std::span<const float> values) {
  double largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(double(value)));
  return largest;
}

// Each value within `tolerance` of the array's largest value, or of `floor` where that is larger.
inline void expect_close(std::span<const float> got, std::span<const float> expected,
                         double tolerance, const std::string& what, double floor = 0) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  const double allowed = tolerance * std::max(largest_of(expected), floor);
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], allowed) << what << ", element " << i;
}

inline std::vector<float> random_floats(int64_t count, uint64_t stream, double scale = 1) {
  Rng rng(11, Purpose::initial_weights, stream, 77);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(scale * rng.normal());
  return values;
}

// Owns the keys of samples 0, 1, 2, ...
class Keys {
 public:
  explicit Keys(int64_t rows, uint64_t seed = 3) : seed_(seed), ids_(static_cast<size_t>(rows)) {
    std::iota(ids_.begin(), ids_.end(), int64_t{0});
  }
  operator SampleKeys() const { return {.seed = seed_, .epoch = 1, .ids = ids_}; }

 private:
  uint64_t seed_;
  std::vector<int64_t> ids_;
};

}  // namespace lockstep
