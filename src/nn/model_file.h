#pragma once

#include "base/files.h"
#include "nn/parameters.h"

namespace lockstep {

// A safetensors file of weights and running statistics under PyTorch's names and layouts.
std::vector<uint8_t> model_bytes(const Parameters& parameters);

// Throws a UserError that names the first tensor which the network lacks or has in another shape.
void load_model(const fs::path& path, Parameters& parameters);

}  // namespace lockstep
