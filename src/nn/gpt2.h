#pragma once

#include <optional>

#include "nn/layer.h"
#include "nn/layers/layer_line.h"
#include "nn/parameters.h"

namespace lockstep {

// How large a GPT-2 is. Its layers carry the names that Hugging Face's files have.
struct Gpt2 {
  int64_t layers = 12, heads = 12, width = 768;
  int64_t context = 1024, vocabulary = 50257;
  float dropout = 0.1f;    // of embeddings, attention and both halves of a block
  bool recompute = false;  // blocks keep only their input for the backward pass
  // LoRA: all weights stay as they are, and the matrices named learn a change of this rank.
  int64_t lora_rank = 0;
  double lora_alpha = 16;
  std::string lora_on = "attn.c_attn";  // names with + between them
};

// "gpt2 [layers N] [heads N] [width N] [context N] [vocabulary N] [dropout RATE] [recompute]
// [lora RANK] [alpha A] [on MATRIX+MATRIX]", or gpt2-medium, gpt2-large, gpt2-xl: the words after
// the name change what the name stands for.
bool is_gpt2(const std::string& name);
Gpt2 parse_gpt2(const std::string& name, LayerLine& line);
std::string text(const Gpt2& size);  // such a line

Layers gpt2_layers(const Gpt2& size);

// The same network without LoRA: what was learned is added to the matrices.
Parameters merged(const Gpt2& size, const Parameters& adapted);

// What a network of one such line is; none for others.
std::optional<Gpt2> gpt2_of(const std::vector<std::string>& lines);

}  // namespace lockstep
