#include "nn/program.h"

#include "nn/nn_testing.h"

namespace lockstep {
namespace {

// All kinds of layers that keep values between forward and backward.
const std::vector<std::string> layers = {"conv 4 3x3 relu", "maxpool 2",   "conv 4 1x1",
                                         "batchnorm relu",  "dropout 0.4", "dense 8 tanh",
                                         "layernorm",       "dense 4"};
constexpr int64_t pixels = 9 * 9 * 2;

struct Gradients {
  std::vector<float> gradients, state;
  std::vector<double> losses;
};

Gradients copied(const Parameters& p, std::vector<double> losses) {
  return {{p.gradients().begin(), p.gradients().end()},
          {p.state().begin(), p.state().end()},
          std::move(losses)};
}

class MicroBatches : public ::testing::TestWithParam<const char*> {
 protected:
  MicroBatches()
      : network_(layers, {9, 9, 2}),
        device_(make_device({.name = GetParam()})),
        x_(random_floats(3 * 5 * pixels, 1)),
        labels_{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2} {}

  const float* input(size_t i) const { return x_.data() + i * 5 * pixels; }
  Targets targets(size_t i) const {
    return {.labels = std::span(labels_).subspan(i * 5, 5), .values = {}};
  }

  Network network_;
  std::unique_ptr<Device> device_;
  std::vector<float> x_;
  std::vector<int32_t> labels_;
};

TEST_P(MicroBatches, InFlightTogetherGiveTheSameBitsAsInTurn) {
  const Keys keys(5);
  Parameters parameters(network_);
  parameters.initialise(Init::pytorch, 1);
  Program serial(network_, LossKind::softmax_cross_entropy, *device_, 5);
  std::vector<double> losses;
  for (size_t i = 0; i < 3; ++i)
    losses.push_back(serial.gradients(parameters, input(i), 5, targets(i), keys, 15, i > 0).loss);
  const Gradients expected = copied(parameters, losses);

  Parameters other(network_);
  other.initialise(Init::pytorch, 1);
  Program program(network_, LossKind::softmax_cross_entropy, *device_, 5, false, 3);
  losses.clear();
  for (size_t i = 0; i < 3; ++i) program.forward(other, input(i), 5, true, keys, i);
  for (size_t i = 0; i < 3; ++i) {
    losses.push_back(program.loss_gradient(targets(i), 15, i).loss);
    program.backward(i > 0, i);
  }
  const Gradients got = copied(other, losses);
  EXPECT_EQ(got.gradients, expected.gradients);
  EXPECT_EQ(got.state, expected.state);
  EXPECT_EQ(got.losses, expected.losses);
}

TEST_P(MicroBatches, OutputsOfASlotSurviveOtherSlots) {
  const Keys keys(5);
  Parameters parameters(network_);
  parameters.initialise(Init::pytorch, 1);
  Program program(network_, LossKind::softmax_cross_entropy, *device_, 5, false, 2);
  program.forward(parameters, input(0), 5, false, keys, 0);
  const auto first = program.outputs(0);
  const std::vector<float> before(first.begin(), first.end());
  program.forward(parameters, input(1), 5, false, keys, 1);
  EXPECT_EQ(std::vector<float>(first.begin(), first.end()), before);
}

INSTANTIATE_TEST_SUITE_P(Devices, MicroBatches, ::testing::Values("cpu", "reference"));

}  // namespace
}  // namespace lockstep
