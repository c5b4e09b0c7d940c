#pragma once

#include <string>
#include <vector>

#include "nn/layer.h"

namespace lockstep {

struct LayerForm {
  std::string name;
  std::string usage;
  std::string description;
};

// Every layer a description may name.
const std::vector<LayerForm>& layer_forms();

// One line may be several layers: "conv 32 3x3 relu" is a convolution and an activation.
Layers parse_layers(const std::vector<std::string>& lines);

}  // namespace lockstep
