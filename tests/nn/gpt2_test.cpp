// GPT-2 features that golden_test does not cover: recomputation, LoRA, layer lines.

#include "nn/gpt2.h"

#include <set>

#include "nn/nn_testing.h"

namespace lockstep {
namespace {

constexpr int64_t rows = 2, length = 7;

// A network with random weights and fixed tokens.
struct Model {
  Model(const std::string& line, const char* device_name)
      : device(make_device({.name = device_name})),
        network({line}, Shape{length}),
        parameters(network),
        program(network, LossKind::softmax_cross_entropy, *device, rows),
        keys(rows) {
    for (int64_t i = 0; i < rows * length; ++i) {
      tokens.push_back(static_cast<float>(i * 5 % 19));
      labels.push_back(static_cast<int32_t>(i * 7 % 19));
    }
    fill(parameters.entries(), parameters.weights());
    fill(parameters.state_entries(), parameters.state());
  }

  // Seeded by name, so that tensors of the same name have the same values in all networks.
  static void fill(const std::vector<Parameters::Entry>& entries, std::span<float> arena) {
    for (const Parameters::Entry& entry : entries) {
      const auto stream = static_cast<uint64_t>(std::hash<std::string>()(entry.spec.name) % 9999);
      const auto values = random_floats(entry.spec.stored.elements(), stream, 0.3);
      std::copy(values.begin(), values.end(), arena.begin() + entry.offset);
    }
  }

  double loss() {
    program.forward(parameters, tokens.data(), rows, true, keys);
    return program.loss({.labels = labels, .values = {}}).loss;
  }
  std::span<const float> gradients() {
    program.gradients(parameters, tokens.data(), rows, {.labels = labels, .values = {}}, keys, 1,
                      false);
    return parameters.gradients();
  }

  std::unique_ptr<Device> device;
  Network network;
  Parameters parameters;
  Program program;
  Keys keys;
  std::vector<float> tokens;
  std::vector<int32_t> labels;
};

const std::string small = "gpt2 layers 2 heads 2 width 8 context 9 vocabulary 19";

class Gpt2Networks : public testing::TestWithParam<const char*> {};

TEST_P(Gpt2Networks, HaveTheSameGradientsWhenBlocksAreRecomputed) {
  Model kept(small + " dropout 0.2", GetParam());
  Model again(small + " dropout 0.2 recompute", GetParam());
  const auto expected = kept.gradients(), got = again.gradients();
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), got.begin(), got.end()));
  EXPECT_LT(again.program.sequence().needs().stash, kept.program.sequence().needs().stash / 2);
}

TEST_P(Gpt2Networks, WithLoraHaveTheGradientsOfFiniteDifferences) {
  Model model(small + " dropout 0 lora 3 alpha 6 on attn.c_attn+mlp.c_proj", GetParam());
  std::set<std::string> names;
  for (const auto& entry : model.parameters.entries()) names.insert(entry.spec.name);
  EXPECT_EQ(names.size(), 8u);  // 2 blocks, 2 matrices each, lora_A and lora_B
  const std::vector<float> got(model.gradients().begin(), model.gradients().end());
  for (const auto& entry : model.parameters.entries()) {
    std::vector<float> expected, part;
    for (int64_t i = 0; i < entry.spec.stored.elements(); ++i) {
      float& weight = model.parameters.weights()[static_cast<size_t>(entry.offset + i)];
      const float before = weight;
      constexpr float nudge = 1e-2f;
      weight = before + nudge;
      const double high = model.loss();
      weight = before - nudge;
      const double low = model.loss();
      weight = before;
      expected.push_back(static_cast<float>((high - low) / (2.0 * double(nudge))));
      part.push_back(got[static_cast<size_t>(entry.offset + i)]);
    }
    expect_close(part, expected, 1e-2, entry.spec.name, 0.05);
  }
}

TEST_P(Gpt2Networks, KeepTheirLossWhenLoraIsMerged) {
  const std::string text = small + " dropout 0 lora 3 alpha 6 on attn.c_attn+attn.c_proj";
  Model adapted(text, GetParam()), plain(small + " dropout 0", GetParam());
  LayerLine line(text);
  const Parameters merged_parameters =
      merged(parse_gpt2(line.take("a name"), line), adapted.parameters);
  std::copy(merged_parameters.weights().begin(), merged_parameters.weights().end(),
            plain.parameters.weights().begin());
  EXPECT_NEAR(plain.loss(), adapted.loss(), 1e-4);
  Model untouched(small + " dropout 0", GetParam());
  EXPECT_GT(std::abs(untouched.loss() - adapted.loss()), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Devices, Gpt2Networks, testing::Values("cpu", "reference"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Gpt2Lines, AreReadBackUnchanged) {
  const std::string line =
      "gpt2 layers 2 heads 2 width 8 context 9 vocabulary 19 dropout 0.1 recompute lora 3 alpha 6 "
      "on "
      "mlp.c_fc";
  const auto size = gpt2_of({line});
  ASSERT_TRUE(size);
  EXPECT_EQ(text(*size), line);
  EXPECT_FALSE(gpt2_of({"dense 3"}));
  EXPECT_EQ(gpt2_of({"gpt2-xl"})->width, 1600);
}

}  // namespace
}  // namespace lockstep
