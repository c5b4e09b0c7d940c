// A custom layer, "scale FACTOR": y = factor * x. It has no weights; its kernel computes on the
// CPU.
#include <lockstep/lockstep.h>

#include <iostream>

namespace {

using namespace lockstep;

class ScaleKernel final : public Kernel {
 public:
  ScaleKernel(int64_t elements, float factor) : elements_(elements), factor_(factor) {}
  void forward(const Pass& pass) override { scale(pass.rows, pass.x, pass.y); }
  void backward(const Pass& pass) override {
    if (pass.dx) scale(pass.rows, pass.dy, pass.dx);
  }
  const char* name() const override { return "scale"; }

 private:
  void scale(int64_t rows, const float* from, float* to) const {
    for (int64_t i = 0; i < rows * elements_; ++i) to[i] = factor_ * from[i];
  }
  int64_t elements_;
  float factor_;
};

class Scale final : public Layer {
 public:
  explicit Scale(LayerLine& line) : factor_(static_cast<float>(line.take_number("the factor"))) {}
  std::string kind() const override { return "scale"; }
  std::string text() const override { return "scale " + std::to_string(factor_); }
  SampleShape output(const SampleShape& in) const override { return in; }
  std::unique_ptr<Kernel> prepare(Device&, const Placement& place) const override {
    return std::make_unique<ScaleKernel>(place.in.elements(), factor_);
  }

 private:
  float factor_;
};

}  // namespace

int main() {
  add_layer(
      {"scale", "scale FACTOR", "multiplies every value"},
      [](LayerLine& line) -> std::unique_ptr<Layer> { return std::make_unique<Scale>(line); });
  RunConfig config = find_config("iris-mlp", {"train.epochs=50"});
  config.model.layers = {"dense 50 relu", "scale 0.5", "dense 3"};
  const auto trained = train(config, {.out = "runs/own-layer", .force = true});
  std::cout << "test accuracy " << trained->summary.test->accuracy << "\n";
}
