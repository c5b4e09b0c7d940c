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

// Every layer a description may name.
std::vector<LayerForm> layer_forms();

// Adds a layer of one's own, whose line is read by `make`. Before any network is described.
using MakeLayer = std::unique_ptr<Layer> (*)(LayerLine& line);
void add_layer(LayerForm form, MakeLayer make);

// One line may be several layers: "conv 32 3x3 relu" is a convolution and an activation.
Layers parse_layers(const std::vector<std::string>& lines);

}  // namespace lockstep
