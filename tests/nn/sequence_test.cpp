// A prepared network: fused layers, outputs that are skipped, calls to listeners.

#include "nn/sequence.h"

#include "nn/nn_testing.h"
#include "nn/registry.h"

namespace lockstep {
namespace {

struct Prepared {
  std::unique_ptr<Device> device;
  Layers layers;
  Sequence sequence;

  Prepared(const std::vector<std::string>& lines, const Shape& in, bool needs_dx = false)
      : device(make_device({.name = "cpu"})),
        layers(parse_layers(lines)),
        sequence(*device, layers, in, 2, needs_dx, "", 1) {}

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const Sequence::Step& step : sequence.steps()) all.push_back(step.name);
    return all;
  }
  std::vector<int64_t> sizes() const {  // in, out, in, out, ...
    std::vector<int64_t> all;
    for (const Sequence::Step& step : sequence.steps()) {
      all.push_back(step.in);
      all.push_back(step.out);
    }
    return all;
  }
};

using Names = std::vector<std::string>;
using Sizes = std::vector<int64_t>;

TEST(Sequence, FusesConvolutionReluAndPooling) {
  EXPECT_EQ(
      Prepared({"conv 4 3x3 relu", "maxpool 2", "dense 5 relu", "dense 3"}, {8, 8, 1}).names(),
      (Names{"conv1+relu1+maxpool1", "dense1+relu2", "dense2"}));
  EXPECT_EQ(Prepared({"conv 4 3x3", "maxpool 2"}, {8, 8, 1}).names(), (Names{"conv1+maxpool1"}));
  EXPECT_EQ(Prepared({"batchnorm relu", "layernorm relu"}, {8, 8, 4}).names(),
            (Names{"batchnorm1+relu1", "layernorm1+relu2"}));
}

TEST(Sequence, FusesOnlyWhatOneKernelComputes) {
  EXPECT_EQ(Prepared({"conv 4 3x3 tanh", "maxpool 2"}, {8, 8, 1}).names(),
            (Names{"conv1", "tanh1", "maxpool1"}));
  EXPECT_EQ(Prepared({"conv 4 3x3 relu", "maxpool 3"}, {8, 8, 1}).names(),
            (Names{"conv1+relu1", "maxpool1"}));
  EXPECT_EQ(Prepared({"conv 4 3x3 relu", "avgpool 2"}, {8, 8, 1}).names(),
            (Names{"conv1+relu1", "avgpool1"}));
  EXPECT_EQ(Prepared({"conv 4 3x3", "maxpool 2", "relu"}, {8, 8, 1}).names(),
            (Names{"conv1+maxpool1", "relu1"}));
}

TEST(Sequence, FlattenIsNoStep) {
  EXPECT_EQ(Prepared({"conv 4 3x3", "flatten", "dense 3"}, {8, 8, 1}).names(),
            (Names{"conv1", "dense1"}));
}

TEST(Sequence, SkipsOutputsThatPoolingDiscards) {
  // 28 -> 26 -> 13 -> 11 -> 5 -> 3 -> 1: the last pooling reads 2x2 of 3x3, and so on back to the
  // first, of whose 13x13 outputs only 10x10 are ever read.
  const Prepared p(
      {"conv 32 3x3 relu", "maxpool 2", "conv 128 3x3 relu", "maxpool 2", "conv 256 3x3 relu",
       "maxpool 2", "flatten 256", "dropout 0.5", "dense 1000 relu", "dense 100 relu", "dense 10"},
      {28, 28, 1});
  EXPECT_EQ(p.sizes(), (Sizes{28 * 28, 10 * 10 * 32, 10 * 10 * 32, 4 * 4 * 128, 4 * 4 * 128, 256,
                              256, 256, 256, 1000, 1000, 100, 100, 10}));
}

TEST(Sequence, KeepsAllOutputsThatAreRead) {
  const Prepared p(
      {"conv 2 3x3 pad 1 relu", "maxpool 2", "conv 3 3x3 pad 1 relu", "maxpool 2", "dense 10"},
      {28, 28, 1});
  EXPECT_EQ(p.sizes(), (Sizes{784, 14 * 14 * 2, 14 * 14 * 2, 7 * 7 * 3, 7 * 7 * 3, 10}));
}

TEST(Sequence, NeverCropsTheCallersSamplesAndOutputs) {
  const Prepared p({"maxpool 2 stride 3", "conv 2 1x1"}, {9, 9, 1});
  EXPECT_EQ(p.sizes(), (Sizes{81, 9, 9, 18}));
  EXPECT_EQ(Prepared({"conv 2 3x3"}, {9, 9, 1}).sizes(), (Sizes{81, 98}));
}

TEST(Sequence, EveryTensorStartsOnACacheLine) {
  const Prepared p({"dense 5", "dense 3"}, {7});
  EXPECT_EQ(p.sequence.steps()[0].weight_count, 48 + 16);
  EXPECT_EQ(p.sequence.steps()[1].weights, 64);
  EXPECT_EQ(p.sequence.weight_floats(), 64 + 16 + 16);
}

// Records the layers and gradients it is notified of.
class Diary final : public PassListener {
 public:
  explicit Diary(std::span<const float> all) : all_(all) {}
  void layer_done(const std::string& layer, bool backward, std::span<float> gradients) override {
    entries.push_back((backward ? "back " : "") + layer);
    if (!backward) return;
    EXPECT_GE(gradients.data(), all_.data());
    EXPECT_LE(gradients.data() + gradients.size(), all_.data() + all_.size());
    for (const float value : gradients) sums.push_back(value);
  }
  std::vector<std::string> entries;
  std::vector<float> sums;

 private:
  std::span<const float> all_;
};

TEST(Program, AnnouncesFinishedGradientsFromTheLastLayerBack) {
  const Network network({"dense 5 relu", "dropout 0.5", "dense 3"}, {4});
  const auto device = make_device({.name = "cpu"});
  Parameters parameters(network);
  parameters.initialise(Init::pytorch, 1);
  Program program(network, LossKind::softmax_cross_entropy, *device, 6);
  Diary diary(parameters.gradients());
  program.listen(&diary);
  const std::vector<float> x = random_floats(6 * 4, 1);
  const std::vector<int32_t> labels = {0, 1, 2, 0, 1, 2};
  program.gradients(parameters, x.data(), 6, {.labels = labels, .values = {}}, Keys(6), 6, false);
  EXPECT_EQ(diary.entries, (Names{"dense1+relu1", "dropout1", "dense2", "back dense2",
                                  "back dropout1", "back dense1+relu1"}));
  // Gradients were complete when announced: together they equal the arena.
  std::vector<float> announced(diary.sums),
      arena(parameters.gradients().begin(), parameters.gradients().end());
  std::sort(announced.begin(), announced.end());
  std::sort(arena.begin(), arena.end());
  EXPECT_EQ(announced, arena);
}

TEST(Program, FewerRowsThanTheBatchGiveTheSameOutputs) {
  const Network network({"conv 3 3x3 relu", "maxpool 2", "dense 4"}, {9, 9, 2});
  const auto device = make_device({.name = "cpu", .threads = 2});
  Parameters parameters(network);
  parameters.initialise(Init::keras, 1);
  Program program(network, LossKind::softmax_cross_entropy, *device, 8);
  const std::vector<float> x = random_floats(8 * 9 * 9 * 2, 1);
  program.forward(parameters, x.data(), 8, false, Keys(8));
  const auto whole = program.outputs();
  const std::vector<float> expected(whole.begin(), whole.begin() + 3 * 4);
  program.forward(parameters, x.data(), 3, false, Keys(3));
  expect_close(program.outputs(), expected, 1e-6, "logits");
}

TEST(Program, GradientsOfMicroBatchesAddUpToThoseOfTheBatch) {
  const Network network({"conv 3 3x3 relu", "maxpool 2", "layernorm", "dense 4"}, {9, 9, 2});
  const std::vector<float> x = random_floats(8 * 162, 1);
  const std::vector<int32_t> labels = {0, 1, 2, 3, 3, 2, 1, 0};
  for (const char* name : {"cpu", "reference"}) {
    const auto device = make_device({.name = name});
    Parameters parameters(network);
    parameters.initialise(Init::keras, 1);
    Program program(network, LossKind::softmax_cross_entropy, *device, 8);
    program.gradients(parameters, x.data(), 8, {.labels = labels, .values = {}}, Keys(8), 8, false);
    const std::vector<float> whole(parameters.gradients().begin(), parameters.gradients().end());
    const std::span<const int32_t> all = labels;
    program.gradients(parameters, x.data(), 5, {.labels = all.first(5), .values = {}}, Keys(5), 8,
                      false);
    program.gradients(parameters, x.data() + 5 * 162, 3, {.labels = all.last(3), .values = {}},
                      Keys(3), 8, true);
    expect_close(parameters.gradients(), whole, 1e-5, name);
  }
}

}  // namespace
}  // namespace lockstep
