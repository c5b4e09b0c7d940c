#pragma once

#include <string>
#include <vector>

#include "nn/layer.h"
#include "nn/layers/layer_line.h"

namespace lockstep {

struct LayerForm {
  std::string name;
  std::string usage;
  std::string description;
};

// All known layers.
std::vector<LayerForm> layer_forms();

// Registers a user-defined layer; `make` parses its line. Call it before describing a network.
using MakeLayer = std::unique_ptr<Layer> (*)(LayerLine& line);
void add_layer(LayerForm form, MakeLayer make);

// One line may be several layers: "conv 32 3x3 relu" is a convolution and an activation.
Layers parse_layers(const std::vector<std::string>& lines);

}  // namespace lockstep
