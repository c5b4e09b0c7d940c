#pragma once

#include "nn/files/safetensors.h"
#include "nn/parameters.h"
#include "os/files.h"

namespace lockstep {

// A safetensors file of weights and running statistics under PyTorch's names and layouts, with a
// description of the network among its metadata: a model is one file, whole or not there.
std::vector<uint8_t> model_bytes(const Parameters& parameters, const std::string& network);

// The description a model was saved with.
std::string network_of(const TensorFile& file, const fs::path& path);

// Throws a UserError that names the first tensor which the network lacks or has in another shape.
void take_tensors(const TensorFile& file, const fs::path& path, Parameters& parameters);

}  // namespace lockstep
