// Shapes, parameter counts and names of a network.

#include "nn/network.h"

#include "base/error.h"
#include "data/data_testing.h"
#include "nn/sequence.h"

namespace lockstep {
namespace {

const std::vector<std::string> cnn_690k = {
    "conv 32 3x3 relu",  "maxpool 2",      "conv 128 3x3 relu", "maxpool 2",
    "conv 256 3x3 relu", "maxpool 2",      "flatten 256",       "dropout 0.5",
    "dense 1000 relu",   "dense 100 relu", "dense 10"};

std::string error_for(const std::vector<std::string>& lines, const Shape& in = {28, 28, 1}) {
  return error_of<UserError>([&] { Network(lines, in); });
}

std::vector<int64_t> counts_by_layer(const Network& network) {
  std::vector<int64_t> counts;
  visit(network.layers(), network.input(),
        [&](const Layer& layer, const std::string&, const SampleShape& in) {
          int64_t count = 0;
          for (const ParameterSpec& p : layer.parameters(in)) count += p.stored.elements();
          if (count > 0) counts.push_back(count);
        });
  return counts;
}

std::vector<std::string> names(const std::vector<ParameterSpec>& specs) {
  std::vector<std::string> all;
  for (const ParameterSpec& spec : specs) all.push_back(spec.name);
  return all;
}

TEST(Network, TheCnnOfTheStudyHas690590Parameters) {
  const Network network(cnn_690k, {28, 28, 1});
  EXPECT_EQ(counts_by_layer(network),
            (std::vector<int64_t>{320, 36'992, 295'168, 257'000, 100'100, 1'010}));
  EXPECT_EQ(network.parameter_count(), 690'590);
  EXPECT_EQ(network.output(), (Shape{10}));
}

TEST(Network, ShapesFollowTheUsualArithmetic) {
  const auto output = [](const std::vector<std::string>& lines, const Shape& in) {
    return Network(lines, in).output().text();
  };
  EXPECT_EQ(output({"conv 8 3x3"}, {28, 30, 1}), "26x28x8");
  EXPECT_EQ(output({"conv 8 3x3 pad same"}, {28, 28, 1}), "28x28x8");
  EXPECT_EQ(output({"conv 8 3x5 stride 2x3"}, {28, 28, 4}), "13x8x8");
  EXPECT_EQ(output({"maxpool 2"}, {5, 7, 3}), "2x3x3");
  EXPECT_EQ(output({"maxpool 3 stride 2 pad 1"}, {5, 7, 3}), "3x4x3");
  EXPECT_EQ(output({"avgpool 2 stride 1"}, {5, 7, 3}), "4x6x3");
  EXPECT_EQ(output({"flatten"}, {5, 7, 3}), "105");
  EXPECT_EQ(output({"dense 9", "relu", "batchnorm", "dropout 0.1"}, {5, 7, 3}), "9");
}

TEST(Network, AMismatchNamesTheLayerAndBothShapes) {
  expect_says(error_for({"conv 8 3x3", "maxpool 2", "conv 8 15x15"}),
              {"layer conv2 \"conv 8 15x15\"", "kernel 15x15", "13x13x8"});
  expect_says(error_for({"conv 8 5x5 pad 1"}, {2, 9, 1}), {"5x5", "2x9x1", "padded: 4x11"});
  expect_says(error_for({"maxpool 3"}, {2, 9, 1}), {"layer maxpool1", "window 3x3", "2x9x1"});
  expect_says(error_for({"flatten 300"}),
              {"layer flatten1 \"flatten 300\"", "300", "28x28x1", "784"});
}

TEST(Network, ConvolutionAndPoolingNeedImages) {
  expect_says(error_for({"dense 10", "conv 8 3x3"}), {"layer conv1", "needs an image", "is 10"});
  expect_says(error_for({"maxpool 2"}, {4}), {"layer maxpool1", "needs an image", "is 4"});
}

TEST(Network, BranchesOfAResidualMustHaveTheSameShape) {
  expect_says(error_for({"residual(conv 8 3x3 pad 1)"}),
              {"layer residual1", "28x28x8", "28x28x1", "| conv"});
  expect_says(error_for({"residual(dense 5; conv 8 3x3 | relu)"}), {"layer conv1", "is 5"});
}

TEST(Network, TheLastLayerMustHaveOneOutputPerClass) {
  const Network network({"dense 9", "relu"}, {4});
  EXPECT_NO_THROW(network.expect_outputs(9, "iris"));
  expect_says(error_of<UserError>([&] { network.expect_outputs(3, "iris"); }),
              {"\"relu\"", "9 outputs", "iris has 3 classes", "\"dense 3\""});
}

TEST(Network, ParametersAreNamedByKindAndCount) {
  const Network network({"conv 2 3x3 relu", "conv 2 3x3", "batchnorm", "dense 3", "layernorm"},
                        {8, 8, 1});
  EXPECT_EQ(names(network.parameters()),
            (std::vector<std::string>{"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias",
                                      "batchnorm1.weight", "batchnorm1.bias", "dense1.weight",
                                      "dense1.bias", "layernorm1.weight", "layernorm1.bias"}));
  EXPECT_EQ(names(network.state()),
            (std::vector<std::string>{"batchnorm1.running_mean", "batchnorm1.running_var"}));
}

TEST(Network, ParametersOfAResidualAreNamedWithinIt) {
  const Network network({"residual(conv 4 3x3 pad 1; batchnorm | conv 4 1x1)"}, {8, 8, 1});
  EXPECT_EQ(names(network.parameters()),
            (std::vector<std::string>{"residual1.conv1.weight", "residual1.conv1.bias",
                                      "residual1.batchnorm1.weight", "residual1.batchnorm1.bias",
                                      "residual1.shortcut.conv1.weight",
                                      "residual1.shortcut.conv1.bias"}));
}

TEST(Network, FilesHoldFiltersAndMatricesAsPyTorchDoes) {
  const Network network({"conv 5 3x2", "dense 7"}, {8, 9, 4});
  EXPECT_EQ(network.parameters()[0].canonical, (Shape{5, 4, 3, 2}));
  EXPECT_EQ(network.parameters()[2].canonical, (Shape{7, 6 * 8 * 5}));
}

TEST(Network, CountsTheFlopsOfOneSample) {
  EXPECT_EQ(Network({"dense 10"}, {784}).flops(), 2.0 * 784 * 10);
  EXPECT_EQ(Network({"conv 8 3x3"}, {10, 10, 2}).flops(), 2.0 * 8 * 8 * 8 * 9 * 2);
  EXPECT_EQ(Network({"residual(dense 6; dense 6 | dense 6)"}, {6}).flops(), 3 * 2.0 * 36);
}

}  // namespace
}  // namespace lockstep
