// Parsing layer lines such as "conv 32 3x3 relu", and the errors for wrong ones.

#include "base/error.h"
#include "data/data_testing.h"
#include "nn/network.h"
#include "nn/registry.h"

namespace lockstep {
namespace {

std::string error_for(const std::vector<std::string>& lines, const Shape& in = {28, 28, 1}) {
  return error_of<UserError>([&] { Network(lines, in); });
}

std::vector<std::string> texts(const std::vector<std::string>& lines) {
  std::vector<std::string> all;
  for (const auto& layer : parse_layers(lines)) all.push_back(layer->text());
  return all;
}

using Texts = std::vector<std::string>;

TEST(LayerLines, OneLineMayBeALayerAndItsActivation) {
  EXPECT_EQ(texts({"conv 32 3x3 relu", "dense 10"}), (Texts{"conv 32 3x3", "relu", "dense 10"}));
}

TEST(LayerLines, OneNumberMeansASquare) {
  EXPECT_EQ(texts({"conv 8 3", "maxpool 2"}), (Texts{"conv 8 3x3", "maxpool 2x2"}));
}

TEST(LayerLines, AKernelMayHaveAStrideAndPadding) {
  EXPECT_EQ(texts({"conv 8 3x5 stride 2x1 pad same"}), (Texts{"conv 8 3x5 stride 2x1 pad 1x2"}));
  EXPECT_EQ(texts({"maxpool 3 stride 2 pad 1"}), (Texts{"maxpool 3x3 stride 2x2 pad 1x1"}));
}

TEST(LayerLines, SpacesDoNotMatter) {
  EXPECT_EQ(texts({"  conv   8\t3x3   relu "}), (Texts{"conv 8 3x3", "relu"}));
}

TEST(LayerLines, TheTextOfALayerReadsBackAsTheSameLayer) {
  const Texts lines = {"conv 8 3x5 stride 2x1 pad 1x2",
                       "avgpool 3x3 stride 2x2",
                       "residual(conv 8 3x3 pad 1x1; batchnorm; relu | conv 8 1x1)",
                       "layernorm",
                       "gelu",
                       "flatten",
                       "dropout 0.25",
                       "dense 10",
                       "softmax",
                       "embedding 256 16 context 32",
                       "attention 4 dropout 0.1",
                       "unembed 256"};
  EXPECT_EQ(texts(texts(lines)), texts(lines));
}

TEST(LayerLines, EveryFormOfTheRegistryIsUnderstood) {
  for (const LayerForm& form : layer_forms()) {
    EXPECT_FALSE(form.description.empty());
    EXPECT_TRUE(form.usage.starts_with(form.name)) << form.usage;
  }
  EXPECT_EQ(layer_forms().size(), 18u);
}

TEST(LayerLines, AMisspelledActivationIsQuotedAndCorrected) {
  expect_says(error_for({"conv 32 3x3 rleu"}),
              {"\"conv 32 3x3 rleu\"", "'rleu'", "did you mean 'relu'?"});
}

TEST(LayerLines, AMisspelledLayerIsQuotedAndCorrected) {
  expect_says(error_for({"dense 10", "denes 10"}),
              {"\"denes 10\"", "'denes'", "did you mean 'dense'?"});
}

TEST(LayerLines, AnUnknownWordListsAllLayers) {
  expect_says(error_for({"transformer 12"}), {"expected one of dense, conv, maxpool"});
}

TEST(LayerLines, AMissingWordIsNamed) {
  expect_says(error_for({"conv"}), {"\"conv\"", "the number of filters is missing"});
  expect_says(error_for({"conv 8"}), {"\"conv 8\"", "the kernel is missing"});
  expect_says(error_for({"conv 8 3 stride"}), {"the stride is missing"});
  expect_says(error_for({"dense"}), {"the number of outputs is missing"});
  expect_says(error_for({"dropout"}), {"the rate is missing"});
  expect_says(error_for({""}), {"a layer's name is missing"});
  expect_says(error_for({}), {"at least one layer"});
}

TEST(LayerLines, InvalidNumbersAreQuoted) {
  for (const char* line : {"dense 0", "dense -3", "dense 1.5", "dense ten", "dense 10x",
                           "dense 99999999999999999999", "dense 2000000000"})
    expect_says(error_for({line}), {fmt::format("\"{}\"", line), "whole number of at least 1"});
  for (const char* line : {"conv 8 0", "conv 8 3x", "conv 8 x3", "conv 8 3x3x3", "conv 8 -1x3",
                           "maxpool 20000", "conv 8 3 stride 0", "conv 8 3 pad -1"})
    expect_says(error_for({line}), {fmt::format("\"{}\"", line), "3 or 3x5 was expected"});
  for (const char* line : {"dropout 1", "dropout -0.1", "dropout nan", "dropout 1e9"})
    expect_says(error_for({line}), {fmt::format("\"{}\"", line), "at least 0 and below 1"});
  expect_says(error_for({"dropout half"}), {"'half'", "a number was expected"});
}

TEST(LayerLines, PaddingMustBeSmallerThanTheWindow) {
  expect_says(error_for({"conv 8 3 pad 3"}), {"padding 3x3", "kernel 3x3"});
  expect_says(error_for({"maxpool 3 pad 2"}), {"padding 2x2", "half of the window 3x3"});
  expect_says(error_for({"conv 8 4 pad same"}), {"'pad same' needs an odd kernel"});
}

TEST(LayerLines, NothingMayFollowTheActivation) {
  expect_says(error_for({"dense 10 relu relu"}), {"'relu' is not understood here"});
  expect_says(error_for({"relu relu"}), {"'relu' is not understood here"});
  expect_says(error_for({"dense 10 dropout 0.5"}), {"'dropout' is not understood here"});
}

TEST(LayerLines, MalformedResidualsAreExplained) {
  for (const char* line : {"residual", "residual(", "residual)", "residual(relu) relu",
                           "residual relu", "residuals(relu)"})
    expect_says(error_for({line}), {fmt::format("\"{}\"", line), "expected residual(LINE"});
  expect_says(error_for({"residual(relu | relu | relu)"}), {"at most one shortcut"});
  expect_says(error_for({"residual()"}), {"a layer's name is missing"});
  expect_says(error_for({"residual(relu; drelu)"}), {"'drelu'", "did you mean 'relu'?"});
}

TEST(LayerLines, ResidualsNestedTooDeeplyAreRefused) {
  std::string line = "relu";
  for (int i = 0; i < 9; ++i) line = "residual(" + line + ")";
  EXPECT_EQ(error_for({line}), "no error");
  for (int i = 0; i < 10'000; ++i) line = "residual(" + line + ")";
  expect_says(error_for({line}), {"nested too deeply"});
}

}  // namespace
}  // namespace lockstep
