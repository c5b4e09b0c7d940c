#include "nn/files/hugging_face.h"

#include "fuzz_target.h"
#include "nn/files/safetensors.h"

namespace lockstep {
namespace {

constexpr int64_t most_parameters = 1 << 20;  // larger networks are valid, but slow to test

// config.json, header and data of model.safetensors, and model.safetensors.index.json, which is
// used if the header is empty.
void read(const std::string& input) {
  const std::vector<std::string> files = files_of(input, 4);
  const fs::path folder = scratch_folder() / "hugging-face";
  fs::remove_all(folder);
  scratch_file("hugging-face/config.json", files[0]);
  if (!files[1].empty())
    scratch_file("hugging-face/model.safetensors", safetensors_of(files[1], files[2]));
  scratch_file("hugging-face/model.safetensors.index.json", files[3]);
  const Gpt2 size = read_gpt2_config(folder);
  const Network network({text(size)}, Shape{std::min<int64_t>(size.context, 8)});
  if (network.parameter_count() > most_parameters) return;
  Parameters parameters(network);
  load_gpt2(folder, parameters);
}

std::vector<std::string> seeds() {
  const Gpt2 size{.layers = 1, .heads = 1, .width = 2, .context = 4, .vocabulary = 5};
  const std::string config = gpt2_files(size, 0).at("config.json");
  const Parameters parameters{Network({text(size)}, Shape{4})};
  std::vector<NamedTensor> tensors;
  for (const Parameters::Entry& entry : parameters.entries()) {
    NamedTensor tensor{entry.spec.name, {}, Parameters::read(entry, parameters.weights_on_host())};
    for (int i = 0; i < entry.spec.canonical.rank(); ++i)
      tensor.shape.push_back(entry.spec.canonical[i]);
    tensors.push_back(std::move(tensor));
  }
  const std::vector<std::string> parts =
      header_and_data(text_of(safetensors_bytes(tensors, {{"format", "pt"}})));
  return {joined({config, parts[0], parts[1], "{}"})};
}

}  // namespace

FuzzTarget hugging_face_target() { return {"hugging-face", read, seeds}; }

}  // namespace lockstep
