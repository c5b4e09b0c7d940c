#include "nn/gpt2.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/nearest.h"
#include "nn/layers/dense.h"
#include "nn/layers/frozen.h"
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

// With LoRA, layers that are not adapted are frozen.
template <typename L, typename... Arguments>
void add_maybe_frozen(Layers& layers, const Gpt2& size, const std::string& name,
                      Arguments&&... arguments) {
  auto layer = std::make_unique<L>(std::forward<Arguments>(arguments)...);
  if (size.lora_rank > 0)
    layers.push_back(std::make_unique<Frozen>(std::move(layer)));
  else
    layers.push_back(std::move(layer));
  layers.back()->set_name(name);
}

constexpr const char* matrices[] = {"attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"};

bool is_adapted(const Gpt2& size, const std::string& name) {
  return ("+" + size.lora_on + "+").find("+" + name + "+") != std::string::npos;
}

void add_dense(Layers& layers, const Gpt2& size, const std::string& name, int64_t outputs,
               double spread) {
  if (size.lora_rank == 0)
    add<Dense>(layers, name, outputs, spread);
  else
    add<AdaptedDense>(layers, name, outputs, is_adapted(size, name) ? size.lora_rank : 0,
                      size.lora_alpha);
}

std::unique_ptr<Layer> block(const Gpt2& size, int64_t index) {
  // As in GPT-2: initial weights of a block's output shrink with the number of residual additions.
  const double last = deviation / std::sqrt(2.0 * static_cast<double>(size.layers));
  Layers attention, mlp, both;
  add_maybe_frozen<Norm>(attention, size, "ln_1", NormKind::layer);
  add_dense(attention, size, "attn.c_attn", 3 * size.width, deviation);
  add<Attention>(attention, "attn", size.heads, size.dropout, size.context);
  add_dense(attention, size, "attn.c_proj", size.width, last);
  add_dropout(attention, "attn.resid_dropout", size.dropout);
  add_maybe_frozen<Norm>(mlp, size, "ln_2", NormKind::layer);
  add_dense(mlp, size, "mlp.c_fc", 4 * size.width, deviation);
  add<Activation>(mlp, "mlp.gelu", ActivationKind::gelu);
  add_dense(mlp, size, "mlp.c_proj", size.width, last);
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

Gpt2 parse_gpt2(const std::string& name, LayerLine& line) {
  Gpt2 g;
  for (const NamedSize& size : sizes)
    if (name == size.name) g.layers = size.layers, g.heads = size.heads, g.width = size.width;
  while (!line.empty()) {
    if (line.take_if("layers"))
      g.layers = line.take_count("the number of blocks");
    else if (line.take_if("heads"))
      g.heads = line.take_count("the number of heads");
    else if (line.take_if("width"))
      g.width = line.take_count("the width");
    else if (line.take_if("context"))
      g.context = line.take_count("the context");
    else if (line.take_if("vocabulary"))
      g.vocabulary = line.take_count("the vocabulary");
    else if (line.take_if("dropout"))
      g.dropout = static_cast<float>(line.take_number("the rate"));
    else if (line.take_if("recompute"))
      g.recompute = true;
    else if (line.take_if("lora"))
      g.lora_rank = line.take_count("the rank");
    else if (line.take_if("alpha"))
      g.lora_alpha = line.take_number("alpha");
    else if (line.take_if("on"))
      g.lora_on = line.take("names of matrices");
    else
      throw UserError(
          "layer \"{}\": '{}' is not understood here; expected layers N, heads N, width N, context "
          "N, vocabulary N, dropout RATE, recompute, lora RANK, alpha A or on MATRICES",
          line.text(), line.peek());
  }
  if (g.width % g.heads != 0)
    throw UserError("layer \"{}\": {} heads do not divide a width of {}", line.text(), g.heads,
                    g.width);
  if (!(g.dropout >= 0 && g.dropout < 1))
    throw UserError("layer \"{}\": the rate must be at least 0 and below 1", line.text());
  for (size_t at = 0; g.lora_rank > 0 && at <= g.lora_on.size();) {
    const size_t end = std::min(g.lora_on.find('+', at), g.lora_on.size());
    const std::string matrix = g.lora_on.substr(at, end - at);
    const std::vector<std::string> known(std::begin(matrices), std::end(matrices));
    if (std::find(known.begin(), known.end(), matrix) == known.end())
      throw UserError("layer \"{}\": '{}' is not a matrix that LoRA can adapt; {}", line.text(),
                      matrix, suggestion(matrix, known));
    at = end + 1;
  }
  if (g.lora_rank > g.width)
    throw UserError("layer \"{}\": LoRA rank {} is larger than the width {}", line.text(),
                    g.lora_rank, g.width);
  if (g.layers > 1000 || g.vocabulary >= 1 << 24)
    throw UserError("layer \"{}\": at most 1000 blocks and {} tokens are possible", line.text(),
                    (1 << 24) - 1);
  return g;
}

std::string text(const Gpt2& g) {
  return fmt::format("gpt2 layers {} heads {} width {} context {} vocabulary {} dropout {}{}",
                     g.layers, g.heads, g.width, g.context, g.vocabulary, g.dropout,
                     g.recompute ? " recompute" : "") +
         (g.lora_rank > 0
              ? fmt::format(" lora {} alpha {} on {}", g.lora_rank, g.lora_alpha, g.lora_on)
              : "");
}

Layers gpt2_layers(const Gpt2& size) {
  Layers layers;
  add_maybe_frozen<Embedding>(layers, size, "transformer", size.vocabulary, size.width,
                              size.context, deviation);
  add_dropout(layers, "transformer.drop", size.dropout);
  for (int64_t i = 0; i < size.layers; ++i) layers.push_back(block(size, i));
  add_maybe_frozen<Norm>(layers, size, "transformer.ln_f", NormKind::layer);
  add_maybe_frozen<Unembed>(layers, size, "lm_head", size.vocabulary);
  return layers;
}

namespace {

// weight[in × out] += scale × down[rank × in]^T up[out × rank]^T, all in file layout.
void add_product(std::span<const float> down, std::span<const float> up, int64_t rank, float scale,
                 std::span<float> weight) {
  const size_t ranks = static_cast<size_t>(rank);
  const size_t inputs = down.size() / ranks, outputs = up.size() / ranks;
  for (size_t i = 0; i < inputs; ++i)
    for (size_t o = 0; o < outputs; ++o) {
      double sum = 0;
      for (size_t r = 0; r < ranks; ++r) sum += double(down[r * inputs + i]) * up[o * ranks + r];
      weight[i * outputs + o] += scale * static_cast<float>(sum);
    }
}

}  // namespace

Parameters merged(const Gpt2& size, const Parameters& adapted) {
  Gpt2 plain = size;
  plain.lora_rank = 0;
  Parameters result(Network({text(plain)}, Shape{1}));
  const auto find = [](const std::vector<Parameters::Entry>& entries, const std::string& name) {
    const auto found =
        std::find_if(entries.begin(), entries.end(),
                     [&](const Parameters::Entry& entry) { return entry.spec.name == name; });
    return found == entries.end() ? nullptr : &*found;
  };
  const float scale = static_cast<float>(size.lora_alpha /
                                         static_cast<double>(std::max<int64_t>(1, size.lora_rank)));
  for (const Parameters::Entry& entry : result.entries()) {
    const std::string& name = entry.spec.name;
    std::vector<float> values =
        Parameters::read(*find(adapted.state_entries(), name), adapted.state_on_host());
    const std::string stem = name.substr(0, name.rfind('.') + 1);
    const Parameters::Entry* down = find(adapted.entries(), stem + "lora_A");
    const Parameters::Entry* up = find(adapted.entries(), stem + "lora_B");
    if (name == stem + "weight" && down && up)
      add_product(Parameters::read(*down, adapted.weights_on_host()),
                  Parameters::read(*up, adapted.weights_on_host()), size.lora_rank, scale, values);
    Parameters::write(entry, values, result.weights_on_host());
  }
  return result;
}

std::optional<Gpt2> gpt2_of(const std::vector<std::string>& lines) {
  if (lines.size() != 1) return std::nullopt;
  LayerLine line(lines[0]);
  const std::string name = line.take("a layer's name");
  if (!is_gpt2(name)) return std::nullopt;
  return parse_gpt2(name, line);
}

}  // namespace lockstep
