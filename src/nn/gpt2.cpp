#include "nn/gpt2.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "nn/layers/dense.h"
#include "nn/layers/group.h"
#include "nn/layers/residual.h"
#include "nn/layers/simple.h"
#include "nn/layers/text.h"

namespace lockstep {
namespace {

constexpr double deviation = 0.02;

struct NamedSize {
  const char* name;
  int64_t layers, heads, width;
};
constexpr NamedSize sizes[] = {{"gpt2", 12, 12, 768},
                               {"gpt2-medium", 24, 16, 1024},
                               {"gpt2-large", 36, 20, 1280},
                               {"gpt2-xl", 48, 25, 1600}};

template <typename L, typename... Arguments>
void add(Layers& layers, const std::string& name, Arguments&&... arguments) {
  layers.push_back(std::make_unique<L>(std::forward<Arguments>(arguments)...));
  layers.back()->set_name(name);
}

void add_dropout(Layers& layers, const std::string& name, float rate) {
  if (rate > 0) add<Dropout>(layers, name, rate);
}

std::unique_ptr<Layer> block(const Gpt2& size, int64_t index) {
  // What each block adds to the sum starts smaller the more blocks there are.
  const double last = deviation / std::sqrt(2.0 * static_cast<double>(size.layers));
  Layers attention, mlp, both;
  add<Norm>(attention, "ln_1", NormKind::layer);
  add<Dense>(attention, "attn.c_attn", 3 * size.width, deviation);
  add<Attention>(attention, "attn", size.heads, size.dropout, size.context);
  add<Dense>(attention, "attn.c_proj", size.width, last);
  add_dropout(attention, "attn.resid_dropout", size.dropout);
  add<Norm>(mlp, "ln_2", NormKind::layer);
  add<Dense>(mlp, "mlp.c_fc", 4 * size.width, deviation);
  add<Activation>(mlp, "mlp.gelu", ActivationKind::gelu);
  add<Dense>(mlp, "mlp.c_proj", size.width, last);
  add_dropout(mlp, "mlp.dropout", size.dropout);
  add<Residual>(both, "", std::move(attention), Layers{});
  add<Residual>(both, "", std::move(mlp), Layers{});
  auto group = std::make_unique<Group>(std::move(both), size.recompute);
  group->set_name(fmt::format("transformer.h.{}", index));
  return group;
}

}  // namespace

bool is_gpt2(const std::string& name) {
  for (const NamedSize& size : sizes)
    if (name == size.name) return true;
  return false;
}

Gpt2 parse_gpt2(const std::string& name, Words& words) {
  Gpt2 g;
  for (const NamedSize& size : sizes)
    if (name == size.name) g.layers = size.layers, g.heads = size.heads, g.width = size.width;
  while (!words.empty()) {
    if (words.take_if("layers"))
      g.layers = words.take_count("the number of blocks");
    else if (words.take_if("heads"))
      g.heads = words.take_count("the number of heads");
    else if (words.take_if("width"))
      g.width = words.take_count("the width");
    else if (words.take_if("context"))
      g.context = words.take_count("the context");
    else if (words.take_if("vocabulary"))
      g.vocabulary = words.take_count("the vocabulary");
    else if (words.take_if("dropout"))
      g.dropout = static_cast<float>(words.take_number("the rate"));
    else if (words.take_if("recompute"))
      g.recompute = true;
    else
      throw UserError(
          "layer \"{}\": '{}' is not understood here; expected layers N, heads N, width N, context "
          "N, vocabulary N, dropout RATE or recompute",
          words.line(), words.peek());
  }
  if (g.width % g.heads != 0)
    throw UserError("layer \"{}\": {} heads do not divide a width of {}", words.line(), g.heads,
                    g.width);
  if (!(g.dropout >= 0 && g.dropout < 1))
    throw UserError("layer \"{}\": the rate must be at least 0 and below 1", words.line());
  if (g.layers > 1000 || g.vocabulary >= 1 << 24)
    throw UserError("layer \"{}\": at most 1000 blocks and {} tokens are possible", words.line(),
                    (1 << 24) - 1);
  return g;
}

std::string text(const Gpt2& g) {
  return fmt::format("gpt2 layers {} heads {} width {} context {} vocabulary {} dropout {}{}",
                     g.layers, g.heads, g.width, g.context, g.vocabulary, g.dropout,
                     g.recompute ? " recompute" : "");
}

Layers gpt2_layers(const Gpt2& size) {
  Layers layers;
  add<Embedding>(layers, "transformer", size.vocabulary, size.width, size.context, deviation);
  add_dropout(layers, "transformer.drop", size.dropout);
  for (int64_t i = 0; i < size.layers; ++i) layers.push_back(block(size, i));
  add<Norm>(layers, "transformer.ln_f", NormKind::layer);
  add<Unembed>(layers, "lm_head", size.vocabulary);
  return layers;
}

std::optional<Gpt2> gpt2_of(const std::vector<std::string>& lines) {
  if (lines.size() != 1) return std::nullopt;
  Words words(lines[0]);
  const std::string name = words.take("a layer's name");
  if (!is_gpt2(name)) return std::nullopt;
  return parse_gpt2(name, words);
}

}  // namespace lockstep
