#include "nn/registry.h"

#include <optional>

#include "base/error.h"
#include "base/nearest.h"
#include "nn/gpt2.h"
#include "nn/layers/conv.h"
#include "nn/layers/dense.h"
#include "nn/layers/pool.h"
#include "nn/layers/residual.h"
#include "nn/layers/simple.h"
#include "nn/layers/text.h"

namespace lockstep {
namespace {

template <typename L>
std::unique_ptr<Layer> make(LayerLine& line) {
  return std::make_unique<L>(line);
}
template <PoolKind kind>
std::unique_ptr<Layer> make_pool(LayerLine& line) {
  return std::make_unique<Pool>(line, kind);
}
template <ActivationKind kind>
std::unique_ptr<Layer> make_activation(LayerLine&) {
  return std::make_unique<Activation>(kind);
}
template <NormKind kind>
std::unique_ptr<Layer> make_norm(LayerLine&) {
  return std::make_unique<Norm>(kind);
}

struct Entry {
  LayerForm form;
  MakeLayer make;  // null: residual and gpt2, which have their own grammar
  bool is_activation = false;
};

std::vector<Entry>& entries() {
  static std::vector<Entry> all = {
      {{"dense", "dense OUTPUTS [ACTIVATION]", "fully connected"}, make<Dense>},
      {{"conv", "conv FILTERS KERNEL [stride S] [pad P|same] [ACTIVATION]", "2-D convolution"},
       make<Conv>},
      {{"maxpool", "maxpool WINDOW [stride S] [pad P]", "largest of each window"},
       make_pool<PoolKind::max>},
      {{"avgpool", "avgpool WINDOW [stride S] [pad P]", "mean of each window"},
       make_pool<PoolKind::average>},
      {{"flatten", "flatten [SIZE]", "turns an image into a vector; SIZE is checked"},
       make<Flatten>},
      {{"dropout", "dropout RATE", "sets this share of values to 0 while training"}, make<Dropout>},
      {{"batchnorm", "batchnorm [ACTIVATION]", "normalises each channel over the batch"},
       make_norm<NormKind::batch>},
      {{"layernorm", "layernorm [ACTIVATION]", "normalises each position over its channels"},
       make_norm<NormKind::layer>},
      {{"embedding", "embedding VOCABULARY WIDTH context N",
        "one vector per token id plus one per position"},
       make<Embedding>},
      {{"attention", "attention HEADS [dropout RATE]",
        "causal self-attention; its input is queries, keys and values side by side"},
       make<Attention>},
      {{"unembed", "unembed VOCABULARY",
        "one logit per token, from the table of the embedding in the first layer"},
       make<Unembed>},
      {{"gpt2",
        "gpt2[-medium|-large|-xl] [layers N] [heads N] [width N] [context N] [vocabulary N] "
        "[dropout RATE] [recompute] [lora RANK] [alpha A] [on MATRIX+MATRIX]",
        "a whole GPT-2"},
       nullptr},
      {{"residual", "residual(LINE; LINE; ... [| SHORTCUT])",
        "adds its input to its body's output"},
       nullptr},
      {{"relu", "relu", "max(x, 0)"}, make_activation<ActivationKind::relu>, true},
      {{"sigmoid", "sigmoid", "1 / (1 + exp(-x))"}, make_activation<ActivationKind::sigmoid>, true},
      {{"tanh", "tanh", "hyperbolic tangent"}, make_activation<ActivationKind::tanh>, true},
      {{"gelu", "gelu", "Gaussian error linear unit, tanh form"},
       make_activation<ActivationKind::gelu>,
       true},
      {{"softmax", "softmax", "exp(x) divided by its sum over channels"},
       make_activation<ActivationKind::softmax>,
       true},
  };
  return all;
}

const Entry* find(const std::string& name) {
  for (const Entry& entry : entries())
    if (entry.form.name == name) return &entry;
  return nullptr;
}

std::vector<std::string> names(bool activations_only) {
  std::vector<std::string> all;
  for (const Entry& entry : entries())
    if (!activations_only || entry.is_activation) all.push_back(entry.form.name);
  return all;
}

// Splits "a; b(c; d); e" at the separators outside brackets.
std::vector<std::string> split_outside_brackets(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == separator && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

void parse_line(const std::string& line, int depth, Layers& layers);

Layers parse_block(const std::string& block, int depth) {
  Layers layers;
  for (const std::string& line : split_outside_brackets(block, ';'))
    parse_line(trimmed(line), depth, layers);
  return layers;
}

void parse_residual(const std::string& line, int depth, Layers& layers) {
  if (depth > 8) throw UserError("layer \"{}\": residual blocks are nested too deeply", line);
  const size_t open = line.find('('), close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close + 1 != line.size() ||
      trimmed(line.substr(0, open)) != "residual")
    throw UserError("layer \"{}\": expected residual(LINE; LINE; ... [| SHORTCUT])", line);
  const auto parts = split_outside_brackets(line.substr(open + 1, close - open - 1), '|');
  if (parts.size() > 2)
    throw UserError("layer \"{}\": expected one body and at most one shortcut after '|'", line);
  layers.push_back(
      std::make_unique<Residual>(parse_block(parts[0], depth + 1),
                                 parts.size() == 2 ? parse_block(parts[1], depth + 1) : Layers{}));
}

void parse_line(const std::string& text, int depth, Layers& layers) {
  if (text.rfind("residual", 0) == 0) return parse_residual(text, depth, layers);
  LayerLine line(text);
  const std::string name = line.take("a layer's name");
  if (is_gpt2(name)) {
    for (auto& layer : gpt2_layers(parse_gpt2(name, line))) layers.push_back(std::move(layer));
    return;
  }
  const Entry* entry = find(name);
  if (!entry)
    throw UserError("layer \"{}\": '{}' is not a layer; {}", text, name,
                    suggestion(name, names(false)));
  layers.push_back(entry->make(line));
  if (line.empty()) return;
  const std::string activation = line.take("an activation");
  const Entry* second = find(activation);
  if (!second || !second->is_activation || entry->is_activation)
    throw UserError("layer \"{}\": '{}' is not understood here; {}", text, activation,
                    suggestion(activation, names(true)));
  layers.push_back(second->make(line));
  line.expect_end();
}

}  // namespace

std::vector<LayerForm> layer_forms() {
  std::vector<LayerForm> all;
  for (const Entry& entry : entries()) all.push_back(entry.form);
  return all;
}

void add_layer(LayerForm form, MakeLayer make) {
  if (find(form.name) || is_gpt2(form.name))
    throw UserError("there is a layer '{}' already; use another name", form.name);
  entries().push_back({std::move(form), make});
}

Layers parse_layers(const std::vector<std::string>& lines) {
  Layers layers;
  for (const std::string& line : lines) parse_line(trimmed(line), 0, layers);
  return layers;
}

}  // namespace lockstep
