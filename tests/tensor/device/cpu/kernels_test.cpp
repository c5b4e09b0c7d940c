#include "tensor/kernel_testing.h"

namespace lockstep {
namespace {

// All CPU kernels but convolutions against the reference device, odd shapes included.

template <typename Spec>
void check(const Spec& spec, const Sizes& sizes, const std::string& what, bool training = true) {
  const Inputs inputs(sizes);
  const auto reference = ReferenceDevice().prepare(spec);
  const Outputs expected = run_kernel(*reference, sizes, inputs, true, true, training);
  for (const int threads : {1, 3}) {
    CpuDevice device(threads);
    const auto kernel = device.prepare(spec);
    expect_same(run_kernel(*kernel, sizes, inputs, true, true, training), expected, what);
  }
}

TEST(CpuDense, AgreesWithTheReference) {
  const int64_t shapes[][3] = {{1, 1, 1},    {5, 4, 50},     {64, 50, 3},   {7, 300, 17},
                               {33, 64, 64}, {64, 4, 17},    {9, 8, 64},    {50, 3, 65},
                               {31, 64, 7},  {200, 520, 40}, {13, 40, 530}, {6, 1000, 16}};
  for (const auto& [rows, in, out] : shapes)
    for (const bool relu : {false, true})
      check(DenseSpec{.batch = rows + 2, .in = in, .out = out, .relu = relu},
            {.batch = rows + 2,
             .rows = rows,
             .in = in,
             .out = out,
             .weights = aligned_floats(in * out) + aligned_floats(out)},
            fmt::format("dense {}x{}x{}", rows, in, out));
}

TEST(CpuDense, AgreesWithTheReferenceForPositionsAndTransposedWeights) {
  const int64_t shapes[][4] = {{1, 1, 1, 1}, {3, 5, 7, 4}, {2, 17, 40, 300}, {4, 64, 33, 21}};
  for (const auto& [rows, positions, in, out] : shapes)
    for (const bool transposed : {false, true})
      check(DenseSpec{.batch = rows,
                      .positions = positions,
                      .in = in,
                      .out = out,
                      .transposed = transposed},
            {.batch = rows,
             .rows = rows,
             .in = positions * in,
             .out = positions * out,
             .weights = aligned_floats(in * out) + (transposed ? 0 : aligned_floats(out))},
            fmt::format("dense {}x{}x{}x{}", rows, positions, in, out));
}

// Inputs are token ids instead of random values.
TEST(CpuEmbedding, AgreesWithTheReference) {
  const int64_t shapes[][5] = {{1, 1, 1, 1, 1}, {3, 5, 7, 9, 6}, {4, 16, 50, 64, 40}};
  for (const auto& [rows, positions, vocabulary, context, width] : shapes)
    for (const bool accumulate : {false, true})
      for (const bool tied : {false, true}) {
        const EmbeddingSpec spec{.batch = rows,
                                 .positions = positions,
                                 .vocabulary = vocabulary,
                                 .context = context,
                                 .width = width,
                                 .tied = tied};
        const Sizes sizes{.batch = rows,
                          .rows = rows,
                          .in = positions,
                          .out = positions * width,
                          .weights = spec.places_offset() + aligned_floats(context * width)};
        Inputs inputs(sizes);
        for (size_t i = 0; i < inputs.x.size(); ++i)
          inputs.x[i] = static_cast<float>(static_cast<int64_t>(i * i) % vocabulary);
        const auto reference = ReferenceDevice().prepare(spec);
        Outputs expected = run_kernel(*reference, sizes, inputs, false, accumulate);
        for (const int threads : {1, 3}) {
          CpuDevice device(threads);
          Outputs got = run_kernel(*device.prepare(spec), sizes, inputs, false, accumulate);
          for (Outputs* o : {&expected, &got})  // clears the padding
            std::fill(o->gradients.begin() + vocabulary * width,
                      o->gradients.begin() + spec.places_offset(), 0.0f),
                o->gradients.resize(static_cast<size_t>(spec.places_offset() + context * width));
          expect_same(got, expected, "embedding");
        }
      }
}

TEST(CpuAttention, AgreesWithTheReference) {
  const int64_t shapes[][4] = {{1, 1, 1, 1}, {2, 7, 3, 12}, {3, 64, 2, 20}, {1, 131, 2, 64}};
  for (const auto& [rows, positions, heads, width] : shapes)
    for (const float dropout : {0.0f, 0.3f})
      check(AttentionSpec{.batch = rows,
                          .positions = positions,
                          .context = positions,
                          .heads = heads,
                          .width = heads * (width / heads),
                          .dropout = dropout,
                          .layer = 3},
            {.batch = rows,
             .rows = rows,
             .in = positions * 3 * heads * (width / heads),
             .out = positions * heads * (width / heads),
             .weights = 0},
            fmt::format("attention {}x{}, {} heads", positions, width, heads));
}

// A sequence in parts, some of a single position, against the whole sequence.
TEST(CpuAttention, ContinuesASequenceFromMemory) {
  constexpr int64_t length = 90, heads = 2, width = 24;
  const auto spec = [](int64_t positions) {
    return AttentionSpec{
        .batch = 1, .positions = positions, .context = 100, .heads = heads, .width = width};
  };
  const std::vector<float> x = random_values(length * 3 * width, 1);
  CpuDevice cpu(2);
  ReferenceDevice reference;
  for (Device* device : {static_cast<Device*>(&cpu), static_cast<Device*>(&reference)}) {
    const auto run = [&](int64_t first, int64_t count, const Buffer* memory) {
      const auto kernel = device->prepare(spec(count));
      std::vector<float> y(static_cast<size_t>(count * width));
      const Buffer stash(kernel->needs().stash), scratch(kernel->needs().scratch);
      Pass p;
      p.rows = 1;
      p.x = x.data() + first * 3 * width;
      p.y = y.data();
      p.stash = stash.data();
      p.scratch = scratch.data();
      p.training = false;
      p.past = memory ? first : 0;
      p.memory = memory ? memory->data() : nullptr;
      kernel->forward(p);
      return y;
    };
    const std::vector<float> whole = run(0, length, nullptr);
    const Buffer memory(device->prepare(spec(1))->needs().memory);
    std::vector<float> parts;
    for (const auto& [first, count] : {std::pair{0, 70}, {70, 12}, {82, 1}, {83, 1}, {84, 6}}) {
      const std::vector<float> part = run(first, count, &memory);
      parts.insert(parts.end(), part.begin(), part.end());
    }
    expect_near(parts, whole, device->description());
  }
}

// About a tenth of the values are present; one row is empty, and columns may occur twice.
TEST(CpuSparseDense, AgreesWithTheReference) {
  const int64_t shapes[][3] = {{1, 1, 1}, {5, 40, 50}, {64, 500, 3}, {7, 300, 130}};
  for (const auto& shape : shapes)
    for (const bool relu : {false, true}) {
      const int64_t rows = shape[0], in = shape[1], out = shape[2];
      const Sizes sizes{.batch = rows,
                        .rows = rows,
                        .in = in,
                        .out = out,
                        .weights = aligned_floats(in * out) + aligned_floats(out)};
      const Inputs inputs(sizes);
      std::vector<int64_t> begins = {0};
      std::vector<int32_t> columns;
      for (int64_t n = 0; n < rows; ++n) {
        for (int64_t i = 0; n != 1 && i < in / 10 + 1; ++i)
          columns.push_back(static_cast<int32_t>((n * 7 + i * i * 3) % in));
        begins.push_back(static_cast<int64_t>(columns.size()));
      }
      const std::vector<float> values = random_values(static_cast<int64_t>(columns.size()), 9);
      const SparseRows x{begins, columns, values};
      const auto run = [&](Device& device) {
        const auto kernel = device.prepare(DenseSpec{
            .batch = rows, .in = in, .out = out, .relu = relu, .needs_dx = false, .sparse = true});
        TouchedRows touched(in, out);
        return run_kernel(*kernel, sizes, inputs, false, true, true, &x, &touched);
      };
      ReferenceDevice reference;
      CpuDevice one(1), three(3);
      expect_same(run(one), run(reference), "sparse dense");
      expect_same(run(three), run(reference), "sparse dense on threads");
    }
}

TEST(TouchedRows, AreListedInRunsAndCleared) {
  TouchedRows touched(6, 2);
  for (const int32_t row : {4, 1, 4, 2}) touched.add(row);
  ASSERT_EQ(touched.runs().size(), 2u);
  EXPECT_EQ(touched.runs()[0].begin, 1);
  EXPECT_EQ(touched.runs()[0].end, 3);
  touched.clear();
  EXPECT_TRUE(touched.runs().empty());
  touched.add(4);
  EXPECT_EQ(touched.list().size(), 1u);
}

TEST(CpuPool, AgreesWithTheReference) {
  const Window windows[] = {{2, 2, 2, 2, 0, 0},
                            {3, 3, 2, 2, 1, 1},
                            {3, 2, 1, 3, 1, 0},
                            {5, 5, 5, 5, 0, 0},
                            {2, 3, 1, 1, 0, 1}};
  for (const Window& w : windows)
    for (const int64_t channels : {1, 3, 8, 21})
      for (const PoolKind kind : {PoolKind::max, PoolKind::average}) {
        const Shape in{11, 13, channels};
        const Shape out{w.rows_from(11), w.columns_from(13), channels};
        check(PoolSpec{.batch = 4, .in = in, .out = out, .window = w, .kind = kind},
              {.batch = 4, .rows = 3, .in = in.elements(), .out = out.elements(), .weights = 0},
              fmt::format("pool {}x{} of {} channels", w.height, w.width, channels));
      }
}

TEST(CpuActivation, AgreesWithTheReference) {
  for (const ActivationKind kind :
       {ActivationKind::relu, ActivationKind::sigmoid, ActivationKind::tanh, ActivationKind::gelu,
        ActivationKind::softmax})
    for (const int64_t width : {1, 7, 10, 64})
      check(ActivationSpec{.batch = 5, .elements = 3 * width, .width = width, .kind = kind},
            {.batch = 5, .rows = 4, .in = 3 * width, .out = 3 * width, .weights = 0},
            fmt::format("activation {} of {}", static_cast<int>(kind), width));
}

TEST(CpuActivation, StaysFiniteForHugeInputs) {
  for (const ActivationKind kind :
       {ActivationKind::sigmoid, ActivationKind::tanh, ActivationKind::gelu}) {
    CpuDevice device(1);
    const auto kernel = device.prepare(ActivationSpec{.batch = 1, .elements = 8, .kind = kind});
    const std::vector<float> x = {-1e30f, -1e9f, -200, -90, 90, 200, 1e9f, 1e30f};
    std::vector<float> y(8), dx(8), dy(8, 1.0f);
    Pass p;
    p.rows = 1;
    p.x = x.data(), p.y = y.data(), p.dy = dy.data(), p.dx = dx.data();
    kernel->forward(p);
    for (size_t i = 0; i < y.size(); ++i) EXPECT_TRUE(std::isfinite(y[i])) << x[i];
    EXPECT_NEAR(y[3], kind == ActivationKind::tanh ? -1 : 0, 1e-6);
  }
}

TEST(CpuDropout, DropsTheSameUnitsAsTheReference) {
  for (const float rate : {0.0f, 0.1f, 0.5f, 0.9f})
    for (const bool training : {true, false})
      check(DropoutSpec{.batch = 6, .elements = 77, .rate = rate, .layer = 3},
            {.batch = 6, .rows = 5, .in = 77, .out = 77, .weights = 0},
            fmt::format("dropout {}", rate), training);
}

TEST(CpuNorm, AgreesWithTheReference) {
  for (const NormKind kind : {NormKind::batch, NormKind::layer})
    for (const int64_t channels : {1, 2, 5, 16, 40})
      for (const bool relu : {false, true})
        for (const bool training : {true, false}) {
          if (kind == NormKind::layer && channels == 1) continue;  // see below
          const int64_t size = 6 * channels;
          check(
              NormSpec{
                  .batch = 9, .positions = 6, .channels = channels, .kind = kind, .relu = relu},
              {.batch = 9,
               .rows = 8,
               .in = size,
               .out = size,
               .weights = 2 * aligned_floats(channels),
               .state = 2 * aligned_floats(channels)},
              fmt::format("norm of {} channels", channels), training);
        }
}

// One channel is its own mean: all that is left of the gradient is rounding, times 1 / sqrt(1e-5).
TEST(CpuNorm, OfLayersWithOneChannelHasNoInputGradient) {
  const Sizes sizes{.batch = 9, .rows = 9, .in = 6, .out = 6, .weights = 2 * aligned_floats(1)};
  CpuDevice device(1);
  const auto kernel =
      device.prepare(NormSpec{.batch = 9, .positions = 6, .channels = 1, .kind = NormKind::layer});
  for (const float dx : run_kernel(*kernel, sizes, Inputs(sizes)).dx) EXPECT_NEAR(dx, 0, 2e-5);
}

TEST(CpuNorm, KeepsItsPrecisionWhenTheMeanIsLarge) {
  const NormSpec spec{.batch = 16, .positions = 49, .channels = 3};
  const Sizes sizes{.batch = 16, .rows = 16, .in = 147, .out = 147, .weights = 32, .state = 32};
  Inputs inputs(sizes);
  for (float& value : inputs.x) value = 1000 + 0.1f * value;
  CpuDevice device(1);
  const Outputs expected = run_kernel(*ReferenceDevice().prepare(spec), sizes, inputs);
  expect_near(run_kernel(*device.prepare(spec), sizes, inputs).y, expected.y, "y", 2e-3);
}

void expect_equal_losses(int64_t samples, int64_t positions, int64_t outputs) {
  const int64_t rows = samples * positions;
  const std::vector<float> y = random_values(rows * outputs, 1, 5);
  const std::vector<float> values = random_values(rows * outputs, 2);
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < rows; ++i) labels.push_back(static_cast<int32_t>(i * 5 % outputs));
  for (const LossKind kind : {LossKind::softmax_cross_entropy, LossKind::sigmoid_cross_entropy,
                              LossKind::mean_squared_error})
    for (const bool by_label : {true, false}) {
      const LossSpec spec{
          .batch = samples, .positions = positions, .outputs = outputs, .kind = kind};
      const Targets targets{
          .labels = by_label ? std::span<const int32_t>(labels) : std::span<const int32_t>(),
          .values = by_label ? std::span<const float>() : std::span<const float>(values)};
      std::vector<float> got(y.size()), expected(y.size());
      CpuDevice device(1);
      const LossSums a = device.prepare(spec)->run(samples, y.data(), targets, got.data(), 12);
      const LossSums b =
          ReferenceDevice().prepare(spec)->run(samples, y.data(), targets, expected.data(), 12);
      EXPECT_NEAR(a.loss, b.loss, 1e-5 * std::abs(b.loss));
      EXPECT_EQ(a.correct, b.correct);
      expect_near(got, expected, "dy");
    }
}

TEST(CpuLoss, AgreesWithTheReference) {
  for (const int64_t outputs : {3, 11, 2000})
    for (const int64_t positions : {1, 3}) expect_equal_losses(9, positions, outputs);
}

TEST(CpuUpdate, AgreesWithTheReferenceOverSeveralSteps) {
  for (const UpdateKind kind : {UpdateKind::sgd, UpdateKind::momentum, UpdateKind::nesterov,
                                UpdateKind::adagrad, UpdateKind::adam, UpdateKind::adamw})
    for (const float decay : {0.0f, 0.01f}) {
      const UpdateSpec spec{.kind = kind, .weight_decay = decay};
      constexpr int64_t count = 3001;
      const auto after = [&](Device& device) {
        std::vector<float> weights = random_values(count, 1), s0(count), s1(count);
        const std::vector<std::span<float>> state = {s0, s1};
        const auto update = device.prepare(spec);
        for (int64_t step = 1; step <= 5; ++step)
          update->run(weights, random_values(count, static_cast<uint64_t>(step) + 1),
                      std::span(state).first(static_cast<size_t>(spec.state_arrays())), step, 0.01f,
                      0.5f);
        return weights;
      };
      ReferenceDevice reference;
      CpuDevice cpu(2);
      expect_near(after(cpu), after(reference), fmt::format("update {}", static_cast<int>(kind)),
                  1e-5);
    }
}

TEST(CpuDevice, SquaredNormsDoNotDependOnThreadsOrNeighbours) {
  const std::vector<float> values = random_values(100'003, 1);
  const std::vector<size_t> ends = {16, 16, 50'000, 99'999, 100'003};
  const auto norms = [&](Device& device, std::span<const float> of, std::span<const size_t> until) {
    std::vector<double> sums(until.size());
    device.squared_norms(of, until, sums);
    return sums;
  };
  CpuDevice one(1), three(3);
  ReferenceDevice reference;
  const std::vector<double> all = norms(one, values, ends);
  EXPECT_EQ(all, norms(three, values, ends));
  const std::vector<double> expected = norms(reference, values, ends);
  for (size_t i = 0; i < ends.size(); ++i) EXPECT_NEAR(all[i], expected[i], 1e-12 * 33'000) << i;
  // A tensor's sum does not depend on its neighbours.
  for (size_t i = 0, begin = 0; i < ends.size(); begin = ends[i++]) {
    const size_t count = ends[i] - begin;
    EXPECT_EQ(norms(three, std::span(values).subspan(begin, count), {&count, 1})[0], all[i]) << i;
  }
}

TEST(CpuDevice, DotProductsAndScaledSumsAreTheReferences) {
  ReferenceDevice reference;
  CpuDevice cpu(2);
  for (const size_t count : {1u, 7u, 1'000u, 50'001u}) {
    const std::vector<float> a = random_values(count, 1), b = random_values(count, 2);
    const std::vector<size_t> ends = {count / 3, count};
    std::vector<double> sums(2), expected(2);
    cpu.dot_products(a, b, ends, sums);
    reference.dot_products(a, b, ends, expected);
    for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(sums[i], expected[i], 1e-10) << count;
    for (const float factor : {1.0f, -1.0f, 0.37f}) {
      std::vector<float> into = a, expected_into = a;
      cpu.add_scaled(into, b, factor);
      reference.add_scaled(expected_into, b, factor);
      expect_near(into, expected_into, fmt::format("add {} x", factor), 1e-6);
    }
  }
}

}  // namespace
}  // namespace lockstep
