#include "nn/layers/text.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace lockstep {
namespace {

void expect_sequence(const SampleShape& in) {
  if (!in.shape.is_sequence())
    throw UserError("needs a sequence (positions x channels), but its input is {}",
                    in.shape.text());
}

}  // namespace

Embedding::Embedding(LayerLine& line)
    : vocabulary_(line.take_count("the vocabulary")), width_(line.take_count("the width")) {
  if (!line.take_if("context"))
    throw UserError("layer \"{}\": expected embedding VOCABULARY WIDTH context N", line.text());
  context_ = line.take_count("the context");
}

std::string Embedding::text() const {
  return fmt::format("embedding {} {} context {}", vocabulary_, width_, context_);
}

SampleShape Embedding::output(const SampleShape& in) const {
  if (in.shape.rank() != 1)
    throw UserError("takes token ids, but its input is {}", in.shape.text());
  if (in.shape[0] > context_)
    throw UserError("has places for {} positions, but samples have {}; set data.context", context_,
                    in.shape[0]);
  return Shape{in.shape[0], width_};
}

std::vector<ParameterSpec> Embedding::parameters(const SampleShape&) const {
  const auto table = [&](const char* name, int64_t rows) {
    return ParameterSpec{.name = name,
                         .stored = {rows, width_},
                         .axes = {0, 1},
                         .canonical = {rows, width_},
                         .deviation = deviation_};
  };
  return {table("wte.weight", vocabulary_), table("wpe.weight", context_)};
}

std::unique_ptr<Kernel> Embedding::prepare(Device& device, const Placement& p) const {
  return device.prepare(EmbeddingSpec{.batch = p.batch,
                                      .positions = p.in.elements(),
                                      .vocabulary = vocabulary_,
                                      .context = context_,
                                      .width = width_,
                                      .tied = p.tied});
}

Attention::Attention(LayerLine& line) : heads_(line.take_count("the number of heads")) {
  if (line.take_if("dropout")) dropout_ = static_cast<float>(line.take_number("the rate"));
  if (!(dropout_ >= 0 && dropout_ < 1))
    throw UserError("layer \"{}\": the rate must be at least 0 and below 1", line.text());
}

std::string Attention::text() const {
  return fmt::format("attention {}{}", heads_,
                     dropout_ > 0 ? fmt::format(" dropout {}", dropout_) : "");
}

SampleShape Attention::output(const SampleShape& in) const {
  expect_sequence(in);
  const int64_t channels = in.shape.channels();
  if (channels % (3 * heads_) != 0)
    throw UserError("needs queries, keys and values for {} heads: 3 x {} x n channels, not {}",
                    heads_, heads_, channels);
  return Shape{in.shape[0], channels / 3};
}

double Attention::flops(const SampleShape& in) const {  // causal: half of each matrix is skipped
  const auto positions = static_cast<double>(in.shape[0]);
  const int64_t width = in.shape.channels() / 3;  // of queries, keys and values each
  return 2.0 * positions * positions * static_cast<double>(width);
}

std::unique_ptr<Kernel> Attention::prepare(Device& device, const Placement& p) const {
  return device.prepare(AttentionSpec{.batch = p.batch,
                                      .positions = p.in[0],
                                      .context = context_ ? context_ : p.in[0],
                                      .heads = heads_,
                                      .width = p.in.channels() / 3,
                                      .dropout = dropout_,
                                      .layer = p.index});
}

std::string Unembed::text() const { return fmt::format("unembed {}", vocabulary_); }

SampleShape Unembed::output(const SampleShape& in) const {
  expect_sequence(in);
  return Shape{in.shape[0], vocabulary_};
}

double Unembed::flops(const SampleShape& in) const {
  return 2.0 * static_cast<double>(in.shape.elements() * vocabulary_);
}

std::optional<Shape> Unembed::tied_to(const SampleShape& in) const {
  return Shape{vocabulary_, in.shape.channels()};
}

std::unique_ptr<Kernel> Unembed::prepare(Device& device, const Placement& p) const {
  return device.prepare(DenseSpec{.batch = p.batch,
                                  .positions = p.in[0],
                                  .in = p.in.channels(),
                                  .out = vocabulary_,
                                  .needs_dx = p.needs_dx,
                                  .transposed = true,
                                  .frozen = p.frozen});
}

}  // namespace lockstep
