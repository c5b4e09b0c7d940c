// Initial weights, and conversion between the layouts of the arena and of files.

#include "nn/parameters.h"

#include "nn/nn_testing.h"

namespace lockstep {
namespace {

std::vector<float> initial(const Network& network, Init init, uint64_t seed) {
  Parameters parameters(network);
  parameters.initialise(init, seed);
  return {parameters.weights().begin(), parameters.weights().end()};
}

std::vector<float> tensor(const Network& network, Init init, const std::string& name) {
  Parameters parameters(network);
  parameters.initialise(init, 1);
  for (const auto& entry : parameters.entries())
    if (entry.spec.name == name) return Parameters::read(entry, parameters.weights_on_host());
  for (const auto& entry : parameters.state_entries())
    if (entry.spec.name == name) return Parameters::read(entry, parameters.state_on_host());
  return {};
}

void expect_uniform(const std::vector<float>& values, double bound) {
  double sum = 0, squares = 0;
  for (const float value : values) {
    EXPECT_LE(std::abs(value), bound);
    sum += value;
    squares += double(value) * value;
  }
  const double count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 0, bound * 3 / std::sqrt(count));
  EXPECT_NEAR(squares / count, bound * bound / 3, bound * bound * 2 / std::sqrt(count));
}

TEST(InitialWeights, DependOnTheSeedAlone) {
  const Network network({"conv 8 3x3 relu", "dense 10"}, {28, 28, 1});
  EXPECT_EQ(initial(network, Init::pytorch, 1), initial(network, Init::pytorch, 1));
  EXPECT_NE(initial(network, Init::pytorch, 1), initial(network, Init::pytorch, 2));
}

TEST(InitialWeights, AreDistributedAsInPyTorch) {
  const Network network({"conv 32 3x3 relu", "dense 100"}, {12, 12, 4});
  expect_uniform(tensor(network, Init::pytorch, "conv1.weight"), 1 / std::sqrt(36.0));
  expect_uniform(tensor(network, Init::pytorch, "conv1.bias"), 1 / std::sqrt(36.0));
  expect_uniform(tensor(network, Init::pytorch, "dense1.weight"), 1 / std::sqrt(3200.0));
  expect_uniform(tensor(network, Init::pytorch, "dense1.bias"), 1 / std::sqrt(3200.0));
}

TEST(InitialWeights, AreDistributedAsInKeras) {
  const Network network({"conv 32 3x3 relu", "dense 100"}, {12, 12, 4});
  expect_uniform(tensor(network, Init::keras, "conv1.weight"), std::sqrt(6.0 / (36 + 288)));
  expect_uniform(tensor(network, Init::keras, "dense1.weight"), std::sqrt(6.0 / (3200 + 100)));
  EXPECT_EQ(largest_of(tensor(network, Init::keras, "conv1.bias")), 0);
  EXPECT_EQ(largest_of(tensor(network, Init::keras, "dense1.bias")), 0);
}

TEST(InitialWeights, NormalisationStartsAsTheIdentity) {
  const Network network({"batchnorm", "layernorm"}, {5});
  for (const Init init : {Init::pytorch, Init::keras}) {
    EXPECT_EQ(tensor(network, init, "batchnorm1.weight"), std::vector<float>(5, 1));
    EXPECT_EQ(tensor(network, init, "batchnorm1.bias"), std::vector<float>(5, 0));
    EXPECT_EQ(tensor(network, init, "batchnorm1.running_mean"), std::vector<float>(5, 0));
    EXPECT_EQ(tensor(network, init, "batchnorm1.running_var"), std::vector<float>(5, 1));
    EXPECT_EQ(tensor(network, init, "layernorm1.weight"), std::vector<float>(5, 1));
  }
}

TEST(InitialWeights, DifferBetweenTensors) {
  const Network network({"dense 8", "dense 8"}, {8});
  EXPECT_NE(tensor(network, Init::keras, "dense1.weight"),
            tensor(network, Init::keras, "dense2.weight"));
}

TEST(Parameters, SurviveTheRoundTripThroughFiles) {
  const Network network({"conv 5 3x2 relu", "residual(conv 5 1x1)", "batchnorm", "dense 7"},
                        {8, 9, 4});
  Parameters from(network), to(network);
  from.initialise(Init::pytorch, 1);
  for (size_t i = 0; i < from.entries().size(); ++i)
    Parameters::write(to.entries()[i], Parameters::read(from.entries()[i], from.weights_on_host()),
                      to.weights_on_host());
  EXPECT_TRUE(std::equal(from.weights().begin(), from.weights().end(), to.weights().begin()));
}

TEST(Parameters, OfADenseLayerOnAnImageAreChannelFirstInFiles) {
  // One output connected to 2x3 pixels of 2 channels; weights are stored pixel by pixel.
  const Network network({"dense 1"}, {2, 3, 2});
  Parameters parameters(network);
  for (size_t i = 0; i < 12; ++i) parameters.weights()[i] = static_cast<float>(i);
  EXPECT_EQ(Parameters::read(parameters.entries()[0], parameters.weights_on_host()),
            (std::vector<float>{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}));
}

TEST(Parameters, StartOnCacheLinesOfTheArena) {
  const Network network({"dense 5", "dense 3"}, {7});
  const Parameters parameters(network);
  std::vector<int64_t> offsets;
  for (const auto& entry : parameters.entries()) offsets.push_back(entry.offset);
  EXPECT_EQ(offsets, (std::vector<int64_t>{0, 48, 64, 80}));
  EXPECT_EQ(parameters.weights().size(), 96u);
  EXPECT_EQ(parameters.gradients().size(), 96u);
}

TEST(Parameters, OfANormAfterFlattenAreChannelFirstInFiles) {
  const Network network({"flatten", "batchnorm"}, {2, 2, 2});
  Parameters p(network);
  for (size_t i = 0; i < 8; ++i) p.weights()[i] = static_cast<float>(i);
  EXPECT_EQ(Parameters::read(p.entries()[0], p.weights_on_host()),
            (std::vector<float>{0, 2, 4, 6, 1, 3, 5, 7}));
}

}  // namespace
}  // namespace lockstep
