#include "nn/layers/residual.h"

#include <algorithm>

#include "base/error.h"
#include "nn/layers/nested_index.h"
#include "nn/sequence.h"
#include "os/buffer.h"

namespace lockstep {
namespace {

class ResidualKernel final : public Kernel {
 public:
  ResidualKernel(Device& device, const Layers& body, const Layers& shortcut, const Placement& p)
      : device_(device),
        in_(p.in.elements()),
        out_(p.out.elements()),
        batch_(p.batch),
        body_(device, body, p.in, p.batch, p.needs_dx, "",
              first_index_inside(p.index, Branch::body)),
        shortcut_(device, shortcut, p.in, p.batch, p.needs_dx, "shortcut.",
                  first_index_inside(p.index, Branch::shortcut)),
        plain_(shortcut.empty()) {}

  const char* name() const override { return "residual"; }

  KernelNeeds needs() const override {
    const KernelNeeds a = body_.needs(), b = shortcut_.needs();
    const size_t branches = plain_ ? 1 : 2;
    return {.stash = a.stash + b.stash + branches * branch_bytes(),
            .scratch = std::max(a.scratch, b.scratch) + branches * branch_bytes(),
            .memory = a.memory + b.memory};
  }

  void forward(const Pass& p) override {
    const Pass body = for_body(p);
    body_.forward(body);
    device_.copy({body.y, size(p, out_)}, {p.y, size(p, out_)});
    if (plain_) {
      device_.add({p.y, size(p, out_)}, {p.x, size(p, out_)});
      return;
    }
    const Pass shortcut = for_shortcut(p);
    shortcut_.forward(shortcut);
    device_.add({p.y, size(p, out_)}, {shortcut.y, size(p, out_)});
  }

  void backward(const Pass& p) override {
    float* copied = reinterpret_cast<float*>(p.scratch);
    device_.copy({p.dy, size(p, out_)}, {copied, size(p, out_)});  // the body may overwrite dy
    body_.backward(for_body(p));
    if (plain_) {
      if (p.dx) device_.add({p.dx, size(p, in_)}, {copied, size(p, in_)});
      return;
    }
    float* other = reinterpret_cast<float*>(p.scratch + branch_bytes());
    Pass q = for_shortcut(p);
    q.dy = copied;
    q.dx = p.dx ? other : nullptr;
    shortcut_.backward(q);
    if (p.dx) device_.add({p.dx, size(p, in_)}, {other, size(p, in_)});
  }

 private:
  size_t branch_bytes() const {
    return round_up(static_cast<size_t>(batch_ * std::max(in_, out_)) * sizeof(float), cache_line);
  }
  static size_t size(const Pass& p, int64_t elements) {
    return static_cast<size_t>(p.rows * elements);
  }

  // Each branch keeps its output, because the backward pass of an activation reads it.
  float* branch_output(const Pass& p, size_t branch) const {
    return reinterpret_cast<float*>(p.stash + body_.needs().stash + shortcut_.needs().stash +
                                    branch * branch_bytes());
  }

  Pass for_body(const Pass& p) const {
    Pass q = p;
    q.y = branch_output(p, 0);
    q.scratch = p.scratch + (plain_ ? 1 : 2) * branch_bytes();
    return q;
  }

  Pass for_shortcut(const Pass& p) const {
    Pass q = for_body(p);
    q.y = branch_output(p, 1);
    q.weights = p.weights + body_.weight_floats();
    q.gradients = p.gradients ? p.gradients + body_.weight_floats() : nullptr;
    q.state = p.state + body_.state_floats();
    q.stash = p.stash + body_.needs().stash;
    q.memory = p.memory ? p.memory + body_.needs().memory : nullptr;
    return q;
  }

  Device& device_;
  int64_t in_, out_, batch_;
  Sequence body_, shortcut_;
  bool plain_;  // the shortcut is the input itself
};

std::string joined(const Layers& layers) {
  std::string text;
  for (const auto& layer : layers) text += (text.empty() ? "" : "; ") + layer->text();
  return text;
}

}  // namespace

std::string Residual::text() const {
  const std::string shortcut = joined(shortcut_);
  return "residual(" + joined(body_) + (shortcut.empty() ? "" : " | " + shortcut) + ")";
}

SampleShape Residual::output(const SampleShape& in) const {
  const Shape body = output_of(body_, in).shape;
  const Shape shortcut = output_of(shortcut_, in).shape;
  if (!(body == shortcut))
    throw UserError("its body gives {} but its shortcut {}; add '| conv ...' to match them",
                    body.text(), shortcut.text());
  return body;
}

std::vector<ParameterSpec> Residual::parameters(const SampleShape& in) const {
  std::vector<ParameterSpec> all = parameters_of(body_, in, "");
  for (ParameterSpec& p : parameters_of(shortcut_, in, "shortcut.")) all.push_back(std::move(p));
  return all;
}

std::vector<ParameterSpec> Residual::state(const SampleShape& in) const {
  std::vector<ParameterSpec> all = state_of(body_, in, "");
  for (ParameterSpec& p : state_of(shortcut_, in, "shortcut.")) all.push_back(std::move(p));
  return all;
}

double Residual::flops(const SampleShape& in) const {
  return flops_of(body_, in) + flops_of(shortcut_, in);
}

std::unique_ptr<Kernel> Residual::prepare(Device& device, const Placement& p) const {
  return std::make_unique<ResidualKernel>(device, body_, shortcut_, p);
}

}  // namespace lockstep
