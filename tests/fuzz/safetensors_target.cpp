#include "nn/safetensors.h"

#include "fuzz_target.h"

namespace lockstep {
namespace {

void read(const std::string& input) {
  const TensorFile file = read_safetensors(scratch_file("t.safetensors", input));
  for (const NamedTensor& tensor : file.tensors) {
    int64_t elements = 1;
    for (const int64_t extent : tensor.shape) elements *= extent;
    expect(elements == static_cast<int64_t>(tensor.values.size()), "a tensor has all its values");
  }
}

std::vector<std::string> seeds() {
  return {text_of(safetensors_bytes({{"a", {2, 3}, {1, 2, 3, 4, 5, 6}}, {"b.c", {}, {7}}},
                                    {{"format", "pt"}})),
          text_of(safetensors_bytes({{"empty", {0, 5}, {}}}, {}))};
}

}  // namespace

FuzzTarget safetensors_target() { return {"safetensors", read, seeds}; }

}  // namespace lockstep
