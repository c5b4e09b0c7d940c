#pragma once

#include <optional>

#include "nn/layer.h"
#include "nn/layers/layer_line.h"
#include "nn/parameters.h"

namespace lockstep {

// Size and options of a GPT-2. Its layers have the names used in Hugging Face's files.
struct Gpt2 {
  int64_t layers = 12, heads = 12, width = 768;
  int64_t context = 1024, vocabulary = 50257;
  float dropout = 0.1f;    // rate after embeddings, in attention, after both halves of a block
  bool recompute = false;  // blocks keep only their input for the backward pass
  // LoRA: all weights are frozen; the matrices in `lora_on` learn an update of this rank. 0: off.
  int64_t lora_rank = 0;
  double lora_alpha = 16;
  std::string lora_on = "attn.c_attn";  // names of matrices, separated by '+'
};

// "gpt2 [layers N] [heads N] [width N] [context N] [vocabulary N] [dropout RATE] [recompute]
// [lora RANK] [alpha A] [on MATRIX+MATRIX]". The name, gpt2, gpt2-medium, gpt2-large or gpt2-xl,
// sets the defaults of layers, heads and width.
bool is_gpt2(const std::string& name);
Gpt2 parse_gpt2(const std::string& name, LayerLine& line);
std::string text(const Gpt2& size);  // a line that parse_gpt2 reads back

Layers gpt2_layers(const Gpt2& size);

// Parameters of the same network without LoRA: the learned updates are added to the matrices.
Parameters merged(const Gpt2& size, const Parameters& adapted);

// The GPT-2 of a network that consists of one such line; none for other networks.
std::optional<Gpt2> gpt2_of(const std::vector<std::string>& lines);

}  // namespace lockstep
