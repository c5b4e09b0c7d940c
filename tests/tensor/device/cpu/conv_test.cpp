#include "tensor/device/cpu/conv/conv.h"

#include "tensor/kernel_testing.h"

namespace lockstep {
namespace {

struct Case {
  const char* what;
  Shape in;
  int64_t filters;
  Window window;
  bool relu = true, max_pool = false;
  int64_t cut = 0;  // rows and columns of the output that are not computed
};

ConvSpec spec_of(const Case& c, int64_t batch) {
  return {.batch = batch,
          .in = c.in,
          .out = {c.window.rows_from(c.in.height()) - c.cut,
                  c.window.columns_from(c.in.width()) - c.cut, c.filters},
          .window = c.window,
          .relu = c.relu,
          .max_pool = c.max_pool};
}

Sizes sizes_of(const ConvSpec& s, int64_t rows) {
  return {.batch = s.batch,
          .rows = rows,
          .in = s.in.elements(),
          .out = s.result().elements(),
          .weights = aligned_floats(s.out.channels() * s.taps()) + s.out.channels()};
}

Window window(int64_t height, int64_t width, int64_t stride = 1, int64_t pad = 0) {
  return {height, width, stride, stride, pad, pad};
}

std::vector<Case> cases() {
  return {
      {"one channel 3x3", {28, 28, 1}, 32, window(3, 3)},
      {"one channel 3x3 pooled", {28, 28, 1}, 32, window(3, 3), true, true},
      {"one channel 3x3 pooled, cut", {28, 28, 1}, 32, window(3, 3), true, true, 6},
      {"one channel 5x5 pooled, odd filters", {13, 11, 1}, 7, window(5, 5), true, true},
      {"padded, pooled", {14, 14, 32}, 64, window(3, 3, 1, 1), true, true},
      {"valid, pooled, odd", {11, 11, 32}, 48, window(3, 3), true, true},
      {"valid, pooled, cut", {10, 10, 32}, 40, window(3, 3), true, true, 2},
      {"many channels pooled", {4, 4, 128}, 160, window(3, 3), true, true},
      {"no relu, pooled", {9, 8, 16}, 24, window(3, 3, 1, 1), false, true},
      {"no relu", {7, 9, 16}, 24, window(3, 3, 1, 1), false},
      {"colour 3x3", {16, 16, 3}, 20, window(3, 3, 1, 1)},
      {"colour 5x5 pooled", {16, 15, 3}, 20, window(5, 5, 1, 2), true, true},
      {"colour 7x7 stride 2", {20, 20, 3}, 16, window(7, 7, 2, 3)},
      {"1x1", {7, 7, 33}, 17, window(1, 1)},
      {"1x1 stride 2", {8, 8, 24}, 40, window(1, 1, 2)},
      {"3x3 stride 2", {15, 15, 12}, 22, window(3, 3, 2, 1)},
      {"3x3 stride 3 no pad", {11, 13, 5}, 9, window(3, 3, 3)},
      {"5x5", {9, 9, 19}, 11, window(5, 5, 1, 2)},
      {"oblong 1x7", {6, 17, 8}, 8, {1, 7, 1, 1, 0, 3}},
      {"oblong 5x2 stride 1x2", {12, 9, 10}, 18, {5, 2, 1, 2, 2, 1}},
      {"one pixel out", {3, 3, 20}, 6, window(3, 3)},
      {"one filter", {8, 8, 16}, 1, window(3, 3, 1, 1)},
      {"3x3 of 64", {12, 12, 64}, 64, window(3, 3, 1, 1)},
  };
}

template <typename Job>
std::vector<std::string> names_for(const std::vector<ConvCandidate<Job>>& candidates,
                                   const ConvSpec& spec) {
  std::vector<std::string> names;
  for (const auto& candidate : candidates)
    if (candidate.cost(spec) >= 0) names.emplace_back(candidate.name);
  return names;
}

// Runs every algorithm that applies to the case, each job in turn.
void check_all(const Case& c, int64_t batch, int64_t rows, ThreadPool& pool, bool accumulate) {
  const ConvSpec spec = spec_of(c, batch);
  const Sizes sizes = sizes_of(spec, rows);
  const Inputs inputs(sizes);
  const auto reference = ReferenceDevice().prepare(spec);
  const Outputs expected = run_kernel(*reference, sizes, inputs, true, accumulate);
  std::vector<ConvChoice> choices = {{}};
  for (const auto& name : names_for(conv_forward_candidates(), spec))
    choices.push_back({.forward = name});
  for (const auto& name : names_for(conv_weight_gradient_candidates(), spec))
    choices.push_back({.weight_gradient = name});
  for (const auto& name : names_for(conv_input_gradient_candidates(), spec))
    choices.push_back({.input_gradient = name});
  for (const ConvChoice& choice : choices) {
    const auto kernel = make_conv(spec, pool, choice);
    Outputs got = run_kernel(*kernel, sizes, inputs, true, accumulate);
    // The reference overwrites the gap between weights and bias unless it accumulates.
    for (int64_t i = spec.out.channels() * spec.taps();
         i < aligned_floats(spec.out.channels() * spec.taps()); ++i)
      got.gradients[size_t(i)] = expected.gradients[size_t(i)];
    expect_same(got, expected, fmt::format("{} by {}", c.what, kernel->name()), 5e-5);
  }
}

TEST(CpuConv, EveryAlgorithmAgreesWithTheReference) {
  ThreadPool pool(1);
  for (const Case& c : cases()) check_all(c, 5, 5, pool, false);
}

TEST(CpuConv, EveryAlgorithmAgreesForPartialBatchesAndAccumulation) {
  ThreadPool pool(1);
  for (const Case& c : cases()) check_all(c, 7, 4, pool, true);
}

TEST(CpuConv, TheNumberOfThreadsDoesNotChangeABit) {
  ThreadPool one(1), three(3);
  for (const Case& c : cases()) {
    const ConvSpec spec = spec_of(c, 8);
    const Sizes sizes = sizes_of(spec, 7);
    const Inputs inputs(sizes);
    const Outputs a = run_kernel(*make_conv(spec, one, {}), sizes, inputs);
    const Outputs b = run_kernel(*make_conv(spec, three, {}), sizes, inputs);
    EXPECT_EQ(a.y, b.y) << c.what;
    EXPECT_EQ(a.dx, b.dx) << c.what;
    EXPECT_EQ(a.gradients, b.gradients) << c.what;
  }
}

}  // namespace
}  // namespace lockstep
