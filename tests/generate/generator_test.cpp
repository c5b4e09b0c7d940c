#include "generate/generator.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace lockstep {
namespace {

const std::vector<std::string> lines = {
    "gpt2 layers 2 heads 2 width 16 context 24 vocabulary 256 dropout 0.1"};

// An untrained model generates noise, but always the same noise.
class Generators : public testing::TestWithParam<const char*> {
 protected:
  Generators()
      : device_(make_device({.name = GetParam()})),
        tokenizer_(Tokenizer::bytes()),
        parameters_(Network(lines, Shape{1})),
        generator_(lines, parameters_, *device_, tokenizer_) {
    parameters_.initialise(Init::pytorch, 3);
    for (float& w : parameters_.weights()) w *= 8;  // spreads the scores
    parameters_.move_to(*device_);
  }

  std::vector<float> whole_scores(std::span<const int32_t> tokens) {
    const Network network(lines, Shape{static_cast<int64_t>(tokens.size())});
    Program program(network, LossKind::softmax_cross_entropy, *device_, 1);
    const std::vector<float> ids(tokens.begin(), tokens.end());
    program.forward(parameters_, ids.data(), 1, false, {});
    const std::span<const float> all = program.outputs();
    return {all.end() - 256, all.end()};
  }

  std::unique_ptr<Device> device_;
  Tokenizer tokenizer_;
  Parameters parameters_;
  Generator generator_;
};

TEST_P(Generators, CachedScoresEqualThoseOfWholePasses) {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 24; ++i) {
    tokens.push_back(i * 37 % 256);
    const std::vector<float> expected = whole_scores(tokens), got = generator_.scores(tokens);
    for (size_t k = 0; k < expected.size(); ++k) ASSERT_NEAR(got[k], expected[k], 2e-4) << i;
  }
}

TEST_P(Generators, GreedyTextEqualsThatOfWholePasses) {
  GenerationOptions options{.max_tokens = 15};
  options.sampling.temperature = 0;
  const Generation g = generator_.run("abc", options);
  std::vector<int32_t> tokens = tokenizer_.encode("abc");
  std::string expected;
  for (int64_t i = 0; i < g.tokens; ++i) {
    const std::vector<float> scores = whole_scores(tokens);
    tokens.push_back(
        static_cast<int32_t>(std::max_element(scores.begin(), scores.end()) - scores.begin()));
    expected += tokenizer_.token_bytes(tokens.back());
  }
  EXPECT_EQ(g.text, expected);
}

TEST_P(Generators, TheSameSeedGeneratesTheSameText) {
  GenerationOptions options{.max_tokens = 20};
  options.sampling = {.temperature = 1.3, .top_k = 50, .top_p = 0.9, .seed = 4};
  const std::string first = generator_.run("x", options).text;
  EXPECT_EQ(generator_.run("x", options).text, first);
  options.sampling.seed = 5;
  EXPECT_NE(generator_.run("x", options).text, first);
}

TEST_P(Generators, ContinueBeyondTheContextAndCountDroppedTokens) {
  GenerationOptions options{.max_tokens = 60};
  EXPECT_EQ(generator_.run(std::string(23, 'a'), options).dropped_tokens, 0);
  const Generation g = generator_.run(std::string(50, 'a'), options);
  EXPECT_EQ(g.prompt_tokens, 50);
  EXPECT_EQ(g.dropped_tokens, 27);
  EXPECT_TRUE(g.tokens == 60 || g.ending == "end-of-text");
}

TEST_P(Generators, StopBeforeAStopText) {
  GenerationOptions options{.max_tokens = 20};
  options.sampling.temperature = 0;
  const std::string whole = generator_.run("abc", options).text;
  ASSERT_GT(whole.size(), 4u);
  options.stops = {whole.substr(2, 2)};
  std::string streamed;
  const Generation g =
      generator_.run("abc", options, [&](const std::string& text) { streamed += text; });
  EXPECT_EQ(g.text, whole.substr(0, whole.find(options.stops[0])));
  EXPECT_EQ(streamed, g.text);
  EXPECT_EQ(g.ending, "stop");
}

INSTANTIATE_TEST_SUITE_P(Devices, Generators, testing::Values("cpu", "reference", "guarded"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Sampler, DrawsOnlyAllowedTokens) {
  const std::vector<float> scores = {1, 4, 3, 2};
  Sampler best({.temperature = 0}), two({.temperature = 5, .top_k = 2}),
      nucleus({.temperature = 1, .top_p = 0.6}),
      repeating({.temperature = 0, .repetition_penalty = 10});
  const std::vector<int32_t> none, ones = {1};
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(best.next(scores, none), 1);
    const int32_t token = two.next(scores, none);
    EXPECT_TRUE(token == 1 || token == 2);
    EXPECT_EQ(nucleus.next(scores, none), 1);
  }
  EXPECT_EQ(repeating.next(scores, ones), 2);
}

TEST(Sampler, DrawsWithTheProbabilitiesOfTheScores) {
  const std::vector<float> scores = {0, 1};
  Sampler sampler({.temperature = 1, .seed = 9});
  int ones = 0;
  for (int i = 0; i < 10000; ++i) ones += sampler.next(scores, {});
  EXPECT_NEAR(ones / 10000.0, 1 / (1 + std::exp(-1.0)), 0.02);
}

}  // namespace
}  // namespace lockstep
