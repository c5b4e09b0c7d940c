// Whole networks compared with PyTorch. tests/golden/make_golden.py describes the files.

#include <map>

#include "base/error.h"
#include "nn/files/safetensors.h"
#include "nn/nn_testing.h"
#include "tensor/device.h"

namespace lockstep {
namespace {

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(LOCKSTEP_TESTS_FOLDER "/golden"))
    if (file.path().extension() == ".safetensors") names.push_back(file.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text)
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  return lines;
}

Shape shape_of(const NamedTensor& input) {  // without the axis of samples
  const auto& s = input.shape;
  return s.size() == 4 ? Shape{s[1], s[2], s[3]} : Shape{s[1]};
}

// The network of one file on one device.
class Golden : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  Golden()
      : file_(read_safetensors(fs::path(LOCKSTEP_TESTS_FOLDER "/golden") /
                               (std::get<0>(GetParam()) + ".safetensors"))),
        device_(make_device({.name = std::get<1>(GetParam())})),
        network_(lines_of(meta("layers")), shape_of(tensor("input"))),
        parameters_(network_, *device_),
        rows_(tensor("input").shape[0]),
        program_(network_, *from_text<LossKind>(meta("loss")), *device_, rows_),
        keys_(rows_) {
    for (const float label : values("labels")) labels_.push_back(static_cast<int32_t>(label));
    for (const auto& entry : parameters_.entries())
      Parameters::write(entry, values("initial/" + entry.spec.name), parameters_.weights_on_host());
    for (const auto& entry : parameters_.state_entries())
      Parameters::write(entry, values("initial/" + entry.spec.name), parameters_.state_on_host());
  }

  const std::string& meta(const std::string& key) const { return file_.metadata.at(key); }
  float number(const std::string& key) const { return std::stof(meta(key)); }
  const NamedTensor& tensor(const std::string& name) const {
    for (const NamedTensor& t : file_.tensors)
      if (t.name == name) return t;
    throw UserError("the golden file has no tensor '{}'", name);
  }
  const std::vector<float>& values(const std::string& name) const { return tensor(name).values; }

  LossSums gradients() {
    return program_.gradients(parameters_, values("input").data(), rows_,
                              {.labels = labels_, .values = {}}, keys_, rows_, false);
  }
  std::span<const float> forward(bool training) {
    program_.forward(parameters_, values("input").data(), rows_, training, keys_);
    return program_.outputs();
  }

  void train() {
    UpdateSpec spec{.momentum = number("momentum"), .weight_decay = number("weight_decay")};
    const std::map<std::string, UpdateKind> kinds = {{"sgd", UpdateKind::sgd},
                                                     {"momentum", UpdateKind::momentum},
                                                     {"nesterov", UpdateKind::nesterov},
                                                     {"adam", UpdateKind::adam},
                                                     {"adamw", UpdateKind::adamw}};
    spec.kind = kinds.at(meta("optimizer"));
    if (file_.metadata.contains("epsilon")) spec.epsilon = number("epsilon");
    const std::unique_ptr<UpdateKernel> update = device_->prepare(spec);
    const size_t floats = parameters_.weights().size();
    std::vector<DeviceMemory> state;
    std::vector<std::span<float>> views;
    for (int i = 0; i < spec.state_arrays(); ++i) {
      state.push_back(device_->allocate(floats * sizeof(float)));
      views.push_back(state.back().floats());
    }
    for (int64_t step = 1; step <= std::stol(meta("steps")); ++step) {
      gradients();
      double squares = 0;
      device_->squared_norms(parameters_.gradients(), {&floats, 1}, {&squares, 1});
      const double norm = std::sqrt(squares), limit = number("clip_norm");
      const double scale = limit > 0 && norm > limit ? limit / norm : 1;
      update->run(parameters_.weights(), parameters_.gradients(), views, step, number("lr"),
                  static_cast<float>(scale));
    }
  }

  TensorFile file_;
  std::unique_ptr<Device> device_;
  Network network_;
  Parameters parameters_;
  int64_t rows_;
  Program program_;
  Keys keys_;
  std::vector<int32_t> labels_;
};

TEST_P(Golden, LogitsMatchPyTorch) {
  expect_close(forward(true), values("logits"), 1e-5, "logits");
}

TEST_P(Golden, LossAndEveryGradientMatchPyTorch) {
  const double loss = values("loss")[0];
  EXPECT_NEAR(gradients().loss / static_cast<double>(rows_), loss, 1e-5 * loss);
  double largest = 0;
  for (const auto& entry : parameters_.entries())
    largest = std::max(largest, largest_of(values("gradient/" + entry.spec.name)));
  // Gradients that cancel out (a bias before batchnorm) have the absolute error of large ones.
  for (const auto& entry : parameters_.entries())
    expect_close(Parameters::read(entry, parameters_.gradients_on_host()),
                 values("gradient/" + entry.spec.name), 2e-5, "the gradient of " + entry.spec.name,
                 0.05 * largest);
}

TEST_P(Golden, WeightsAndStatisticsAfterTrainingMatchPyTorch) {
  train();
  for (const auto& entry : parameters_.entries())
    expect_close(Parameters::read(entry, parameters_.weights_on_host()),
                 values("after/" + entry.spec.name), 1e-4, entry.spec.name);
  for (const auto& entry : parameters_.state_entries())
    expect_close(Parameters::read(entry, parameters_.state_on_host()),
                 values("after/" + entry.spec.name), 1e-4, entry.spec.name);
  expect_close(forward(false), values("evaluated"), 2e-4, "the logits while evaluating");
}

TEST_P(Golden, TheFileHoldsExactlyTheParametersOfTheNetwork) {
  size_t expected = parameters_.entries().size() + parameters_.state_entries().size(), found = 0;
  for (const NamedTensor& t : file_.tensors) found += t.name.starts_with("initial/");
  EXPECT_EQ(found, expected);
}

INSTANTIATE_TEST_SUITE_P(Files, Golden,
                         testing::Combine(testing::ValuesIn(golden_names()),
                                          testing::Values("cpu", "reference", "guarded")),
                         [](const auto& info) {
                           std::string name =
                               std::get<0>(info.param) + "_on_" + std::get<1>(info.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace lockstep
