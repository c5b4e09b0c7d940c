#pragma once

#include "nn/layer.h"
#include "nn/layers/layer_line.h"

namespace lockstep {

// "maxpool WINDOW [stride S] [pad P]", "avgpool ..."; the stride defaults to the window.
class Pool final : public Layer {
 public:
  Pool(LayerLine& line, PoolKind pool_kind);

  std::string kind() const override { return pool_ == PoolKind::max ? "maxpool" : "avgpool"; }
  std::string text() const override { return kind() + " " + window_text(window_, true); }
  SampleShape output(const SampleShape& in) const override;
  Shape needed_input(const Shape& in, const Shape& needed_output) const override;
  bool cuts_output() const override { return true; }
  std::unique_ptr<Kernel> prepare(Device& device, const Placement& placement) const override;

  bool is_plain_max_2x2() const;  // can be fused with a convolution

 private:
  PoolKind pool_;
  Window window_;
};

}  // namespace lockstep
