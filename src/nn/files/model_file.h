#pragma once

#include "nn/files/safetensors.h"
#include "nn/parameters.h"
#include "os/files.h"

namespace lockstep {

// The content of a model file: weights and running statistics as safetensors, with PyTorch's names
// and layouts. The description of the network is in the metadata, so a model is a single file.
std::vector<uint8_t> model_bytes(const Parameters& parameters, const std::string& network);

// The description of the network that the model was saved with.
std::string network_of(const TensorFile& file, const fs::path& path);

// Copies the tensors into `parameters`. Throws a UserError that names the first tensor that is
// unknown, missing or of a different shape.
void take_tensors(const TensorFile& file, const fs::path& path, Parameters& parameters);

}  // namespace lockstep
