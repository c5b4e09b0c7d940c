#include "fuzz_target.h"
#include "nn/network.h"

namespace lockstep {
namespace {

// The first line is the input shape, "28x28x1" or "64"; the others are layers.
void read(const std::string& input) {
  std::vector<std::string> lines;
  for (size_t at = 0, end; at < input.size(); at = end + 1) {
    end = std::min(input.find('\n', at), input.size());
    lines.push_back(input.substr(at, end - at));
  }
  if (lines.empty()) return;
  const bool image = lines.front() == "28x28x1";
  lines.erase(lines.begin());
  const Network network(lines, image ? Shape{28, 28, 1} : Shape{64});
  expect(network.parameter_count() >= 0, "the number of parameters does not overflow");
  expect(network.output().elements() > 0, "the output is not empty");
  expect(network.flops() >= 0, "the number of operations is not negative");
}

std::vector<std::string> seeds() {
  return {
      "28x28x1\nconv 32 3x3 relu\nmaxpool 2\nconv 64 3x3 pad 1\nbatchnorm relu\ndropout 0.25\n"
      "flatten\ndense 128 tanh\ndense 10",
      "28x28x1\nresidual(conv 8 3x3 pad 1 relu; conv 1 3x3 pad 1)\navgpool 2\ndense 10",
      "64\ngpt2 layers 2 heads 2 width 16 context 64 vocabulary 100 dropout 0 recompute lora 4",
      "64\ndense 30 sigmoid\nlayernorm\ndense 3"};
}

}  // namespace

FuzzTarget layers_target() { return {"layers", read, seeds}; }

}  // namespace lockstep
