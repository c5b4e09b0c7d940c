#include "nn/files/safetensors.h"

#include "fuzz_target.h"

namespace lockstep {
namespace {

// The whole file; or header and data, if the input begins like a header.
void read(const std::string& input) {
  const std::vector<std::string> parts = files_of(input, 2);
  const std::string content = input.starts_with('{') ? safetensors_of(parts[0], parts[1]) : input;
  const TensorFile file = read_safetensors(scratch_file("t.safetensors", content));
  for (const NamedTensor& tensor : file.tensors) {
    int64_t elements = 1;
    for (const int64_t extent : tensor.shape) elements *= extent;
    expect(elements == static_cast<int64_t>(tensor.values.size()), "a tensor has all its values");
  }
}

std::vector<std::string> seeds() {
  const std::string small = text_of(
      safetensors_bytes({{"a", {2, 3}, {1, 2, 3, 4, 5, 6}}, {"b.c", {}, {7}}}, {{"format", "pt"}}));
  return {small, joined(header_and_data(small)),
          joined(header_and_data(text_of(safetensors_bytes({{"empty", {0, 5}, {}}}, {}))))};
}

}  // namespace

FuzzTarget safetensors_target() { return {"safetensors", read, seeds}; }

}  // namespace lockstep
