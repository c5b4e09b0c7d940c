// Backward passes and losses against central differences of the forward pass.

#include "nn/nn_testing.h"
#include "nn/registry.h"
#include "nn/sequence.h"
#include "tensor/device.h"

namespace lockstep {
namespace {

constexpr int64_t rows = 3;
constexpr double nudge = 2e-3, tolerance = 3e-3;

struct Case {
  std::string name;
  std::vector<std::string> lines;
  Shape in;
};

// Prints the layer lines as in a configuration.
void PrintTo(const Case& c, std::ostream* out) {
  for (const std::string& line : c.lines) *out << '"' << line << "\" ";
  *out << "on " << c.in.text();
}

// Layers on one device, and a scalar to differentiate: the sum of outputs times fixed factors.
class Scalar {
 public:
  Scalar(const Case& c, const std::string& device)
      : device_(make_device({.name = device})),
        layers_(parse_layers(c.lines)),
        sequence_(*device_, layers_, c.in, rows, true, "", 1),
        x(random_floats(rows * c.in.elements(), 1)),
        weights(random_floats(sequence_.weight_floats(), 2, 0.7)),
        keys_(rows),
        state_(static_cast<size_t>(sequence_.state_floats())),
        y_(static_cast<size_t>(rows * output_of(layers_, c.in).shape.elements())),
        factors_(random_floats(static_cast<int64_t>(y_.size()), 3)),
        stash_(sequence_.needs().stash),
        scratch_(sequence_.needs().scratch),
        parameters_(parameters_of(layers_, c.in, "")) {}

  double value() {
    sequence_.forward(pass());
    double sum = 0;
    for (size_t i = 0; i < y_.size(); ++i) sum += double(y_[i]) * factors_[i];
    return sum;
  }

  struct Gradients {
    std::vector<float> dx, weights;
  };
  Gradients gradients() {
    Gradients result{std::vector<float>(x.size()), std::vector<float>(weights.size())};
    std::vector<float> dy = factors_;
    Pass p = pass();
    p.dy = dy.data();
    p.dx = result.dx.data();
    p.gradients = result.weights.data();
    sequence_.forward(p);
    sequence_.backward(p);
    return result;
  }

  double difference(float& at) {
    const float before = at;
    at = before + static_cast<float>(nudge);
    const double high_at = at, high = value();
    at = before - static_cast<float>(nudge);
    const double low_at = at, low = value();
    at = before;
    return (high - low) / (high_at - low_at);
  }

  const std::vector<ParameterSpec>& parameters() const { return parameters_; }

 private:
  Pass pass() {
    Pass p;
    p.rows = rows;
    p.x = x.data();
    p.y = y_.data();
    p.weights = weights.data();
    p.state = state_.data();
    p.stash = stash_.data();
    p.scratch = scratch_.data();
    p.keys = keys_;
    return p;
  }

  std::unique_ptr<Device> device_;
  Layers layers_;
  Sequence sequence_;

 public:
  std::vector<float> x, weights;

 private:
  Keys keys_;
  std::vector<float> state_, y_, factors_;
  Buffer stash_, scratch_;
  std::vector<ParameterSpec> parameters_;
};

class FiniteDifferences : public testing::TestWithParam<Case> {};

TEST_P(FiniteDifferences, AgreeWithTheBackwardPass) {
  Scalar reference(GetParam(), "reference");
  std::vector<float> dx;
  for (float& value : reference.x) dx.push_back(static_cast<float>(reference.difference(value)));
  std::vector<std::vector<float>> by_tensor;
  int64_t offset = 0;
  for (const ParameterSpec& p : reference.parameters()) {
    by_tensor.emplace_back();
    for (int64_t i = 0; i < p.stored.elements(); ++i)
      by_tensor.back().push_back(static_cast<float>(
          reference.difference(reference.weights[static_cast<size_t>(offset + i)])));
    offset += aligned_floats(p.stored.elements());
  }

  for (const char* device : {"reference", "cpu"}) {
    const Scalar::Gradients got = Scalar(GetParam(), device).gradients();
    expect_close(got.dx, dx, tolerance, std::string(device) + ": dx");
    offset = 0;
    for (size_t i = 0; i < by_tensor.size(); ++i) {
      const ParameterSpec& p = reference.parameters()[i];
      expect_close(std::span(got.weights).subspan(static_cast<size_t>(offset), by_tensor[i].size()),
                   by_tensor[i], tolerance, std::string(device) + ": " + p.name, 0.1);
      offset += aligned_floats(p.stored.elements());
    }
  }
}

const Shape image{5, 6, 2};
INSTANTIATE_TEST_SUITE_P(
    Layers, FiniteDifferences,
    testing::Values(
        Case{"dense", {"dense 5"}, {7}}, Case{"dense_relu", {"dense 5 relu"}, {7}},
        Case{"dense_of_an_image", {"dense 5"}, image}, Case{"conv", {"conv 3 3x3"}, image},
        Case{"conv_relu", {"conv 3 3x3 pad 1 relu"}, image},
        Case{"conv_relu_maxpool", {"conv 3 2x2 relu", "maxpool 2"}, image},
        Case{"conv_maxpool", {"conv 3 3x3 pad same", "maxpool 2"}, image},
        Case{"conv_oblong", {"conv 3 3x2 stride 2x1 pad 1x0"}, image},
        Case{"conv_strided", {"conv 2 2x2 stride 3"}, {7, 8, 1}},
        Case{"maxpool", {"maxpool 2"}, image},
        Case{"maxpool_overlapping", {"maxpool 3 stride 2 pad 1"}, image},
        Case{"avgpool", {"avgpool 2"}, image},
        Case{"avgpool_overlapping", {"avgpool 3x2 stride 1 pad 1"}, image},
        Case{"flatten", {"flatten", "dense 4"}, image}, Case{"dropout", {"dropout 0.4"}, {20}},
        Case{"relu", {"relu"}, {20}}, Case{"sigmoid", {"sigmoid"}, {20}},
        Case{"tanh", {"tanh"}, {20}}, Case{"gelu", {"gelu"}, {20}},
        Case{"softmax", {"softmax"}, {7}}, Case{"softmax_over_channels", {"softmax"}, {2, 3, 4}},
        Case{"batchnorm", {"batchnorm"}, {4}}, Case{"batchnorm_of_an_image", {"batchnorm"}, image},
        Case{"batchnorm_relu", {"batchnorm relu"}, {3, 3, 2}},
        Case{"layernorm", {"layernorm"}, {6}},
        Case{"layernorm_of_an_image", {"layernorm"}, {2, 3, 5}},
        Case{"layernorm_relu", {"layernorm relu"}, {6}},
        Case{"dense_of_a_sequence", {"dense 5 relu"}, {4, 3}},
        Case{"attention", {"attention 2"}, {5, 12}},
        Case{"attention_in_blocks", {"attention 1"}, {70, 3}},
        Case{"attention_dropout", {"attention 2 dropout 0.3"}, {5, 12}},
        Case{"transformer_block",
             {"residual(layernorm; dense 12; attention 2; dense 4; dropout 0.2)",
              "residual(layernorm; dense 8 gelu; dense 4)"},
             {5, 4}},
        Case{"residual", {"residual(dense 6 tanh; dense 6)"}, {6}},
        Case{"residual_conv", {"residual(conv 2 3x3 pad 1; batchnorm)"}, image},
        Case{"residual_relu", {"residual(dense 6 relu)"}, {6}},
        Case{"residual_tanh", {"residual(dense 6; tanh)"}, {6}},
        Case{"residual_softmax", {"residual(dense 6; softmax)"}, {6}},
        Case{"residual_conv_relu", {"residual(conv 2 3x3 pad 1 relu)"}, image},
        Case{"residual_batchnorm_relu", {"residual(batchnorm relu)"}, {3, 3, 2}},
        Case{"residual_shortcut_relu", {"residual(dense 6 | dense 6 relu)"}, {6}},
        Case{"residual_of_odd_size", {"residual(conv 2 3x3 | conv 2 3x3)", "maxpool 2"}, {7, 7, 2}},
        Case{"batchnorm_of_odd_size", {"batchnorm", "maxpool 2"}, {5, 5, 2}},
        Case{"layernorm_of_odd_size", {"layernorm", "maxpool 2"}, {5, 5, 3}},
        Case{"dropout_of_odd_size", {"dropout 0.2", "maxpool 2"}, {5, 5, 3}},
        Case{"tanh_of_odd_size", {"tanh", "maxpool 2"}, {5, 5, 2}},
        Case{"norm_before_a_stride", {"conv 2 1x1", "batchnorm", "conv 2 2x2 stride 2"}, {5, 5, 2}},
        Case{"residual_shortcut",
             {"residual(conv 3 3x3 stride 2 pad 1 | conv 3 1x1 stride 2)"},
             image},
        Case{"residual_twice",
             {"residual(dense 6)", "residual(residual(dense 6; sigmoid; dense 6))"},
             {6}}),
    [](const auto& info) { return info.param.name; });

class LossDifferences : public testing::TestWithParam<LossKind> {};

TEST_P(LossDifferences, AgreeWithTheGradientOfTheLoss) {
  constexpr int64_t outputs = 5, divisor = 4;
  const std::vector<int32_t> labels = {0, 4, 2};
  const std::vector<float> values = [] {
    std::vector<float> shares = random_floats(rows * outputs, 5);
    for (size_t row = 0; row < rows; ++row) {  // each row sums to 1, like class probabilities
      double sum = 0;
      for (size_t i = 0; i < outputs; ++i) sum += std::abs(shares[row * outputs + i]);
      for (size_t i = 0; i < outputs; ++i)
        shares[row * outputs + i] = static_cast<float>(std::abs(shares[row * outputs + i]) / sum);
    }
    return shares;
  }();
  for (const std::string device_name : {"reference", "cpu"})
    for (const bool by_label : {true, false}) {
      Targets targets;
      if (by_label)
        targets.labels = labels;
      else
        targets.values = values;
      const auto device = make_device({.name = device_name});
      const auto loss =
          device->prepare(LossSpec{.batch = rows, .outputs = outputs, .kind = GetParam()});
      std::vector<float> y = random_floats(rows * outputs, 4, 2), dy(y.size()), expected;
      loss->run(rows, y.data(), targets, dy.data(), divisor);
      for (float& at : y) {
        const float before = at;
        at = before + 0.01f;
        const double high = loss->run(rows, y.data(), targets, nullptr, divisor).loss;
        at = before - 0.01f;
        const double low = loss->run(rows, y.data(), targets, nullptr, divisor).loss;
        at = before;
        expected.push_back(static_cast<float>((high - low) / 0.02 / divisor));
      }
      expect_close(dy, expected, 1e-3, device_name + (by_label ? " by label" : " by value"));
    }
}

INSTANTIATE_TEST_SUITE_P(Kinds, LossDifferences,
                         testing::Values(LossKind::softmax_cross_entropy,
                                         LossKind::sigmoid_cross_entropy,
                                         LossKind::mean_squared_error));

}  // namespace
}  // namespace lockstep
