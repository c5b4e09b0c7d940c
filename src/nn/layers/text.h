#pragma once

#include "nn/layer.h"
#include "nn/layers/layer_line.h"

namespace lockstep {

// Layers of language models: a sample is a sequence of token ids.

// "embedding VOCABULARY WIDTH context N": one vector per token plus one per position
class Embedding final : public Layer {
 public:
  explicit Embedding(LayerLine& line);
  // As in GPT-2: normal initial weights with this deviation.
  Embedding(int64_t vocabulary, int64_t width, int64_t context, double deviation)
      : vocabulary_(vocabulary), width_(width), context_(context), deviation_(deviation) {}
  std::string kind() const override { return "embedding"; }
  std::string text() const override;
  SampleShape output(const SampleShape& in) const override;
  std::vector<ParameterSpec> parameters(const SampleShape& in) const override;
  std::unique_ptr<Kernel> prepare(Device& device, const Placement& placement) const override;

 private:
  int64_t vocabulary_, width_, context_ = 0;
  double deviation_ = 0.02;
};

// "attention HEADS [dropout RATE]": causal self-attention; the input is queries, keys and values
// side by side
class Attention final : public Layer {
 public:
  explicit Attention(LayerLine& line);
  Attention(int64_t heads, float dropout, int64_t context)
      : heads_(heads), dropout_(dropout), context_(context) {}
  std::string kind() const override { return "attention"; }
  std::string text() const override;
  SampleShape output(const SampleShape& in) const override;
  double flops(const SampleShape& in) const override;
  std::unique_ptr<Kernel> prepare(Device& device, const Placement& placement) const override;

 private:
  int64_t heads_;
  float dropout_ = 0;
  int64_t context_ = 0;  // 0: the length of the samples
};

// "unembed VOCABULARY": one logit per token, from the embedding table of the first layer
class Unembed final : public Layer {
 public:
  explicit Unembed(LayerLine& line) : vocabulary_(line.take_count("the vocabulary")) {}
  explicit Unembed(int64_t vocabulary) : vocabulary_(vocabulary) {}
  std::string kind() const override { return "unembed"; }
  std::string text() const override;
  SampleShape output(const SampleShape& in) const override;
  double flops(const SampleShape& in) const override;
  std::optional<Shape> tied_to(const SampleShape& in) const override;
  std::unique_ptr<Kernel> prepare(Device& device, const Placement& placement) const override;

 private:
  int64_t vocabulary_;
};

}  // namespace lockstep
