#include "nn/layers/frozen.h"

#include <fmt/format.h>

#include <algorithm>

#include "os/buffer.h"

namespace lockstep {
namespace {

// Runs another layer's kernel on frozen weights. Their gradients, if the kernel computes them, go
// to scratch memory.
class FrozenKernel final : public Kernel {
 public:
  FrozenKernel(std::unique_ptr<Kernel> inside, int64_t weights)
      : inside_(std::move(inside)), gradient_bytes_(padded_bytes(weights)) {}
  const char* name() const override { return inside_->name(); }
  KernelNeeds needs() const override {
    KernelNeeds needs = inside_->needs();
    needs.scratch += gradient_bytes_;
    return needs;
  }
  void forward(const Pass& p) override { inside_->forward(with_state(p)); }
  void backward(const Pass& p) override {
    if (p.dx) inside_->backward(with_state(p));
  }

 private:
  Pass with_state(const Pass& p) const {
    Pass q = p;
    q.weights = p.state;
    q.gradients = reinterpret_cast<float*>(p.scratch);
    q.scratch = p.scratch + gradient_bytes_;
    q.accumulate = false;
    return q;
  }

  std::unique_ptr<Kernel> inside_;
  size_t gradient_bytes_;
};

class AdaptedKernel final : public Kernel {
 public:
  AdaptedKernel(Device& device, const DenseSpec& whole, int64_t rank, float scale)
      : device_(device),
        s_(whole),
        rank_(rank),
        scale_(scale),
        whole_(device.prepare(whole)),
        down_(device.prepare(part(s_.in, rank, whole.needs_dx))),
        up_(device.prepare(part(rank, s_.out, true))) {}
  const char* name() const override { return "adapted"; }

  KernelNeeds needs() const override {
    const size_t inside =
        std::max({whole_->needs().scratch, down_->needs().scratch, up_->needs().scratch});
    return {.stash = whole_->needs().stash + padded_bytes(rows() * rank_),
            .scratch = round_up(inside, cache_line) +
                       padded_bytes(rows() * std::max(s_.in, s_.out)) +
                       padded_bytes(rows() * rank_)};
  }

  void forward(const Pass& p) override {
    const size_t outputs = static_cast<size_t>(p.rows * s_.positions * s_.out);
    whole_->forward(with_state(p));
    Pass down = inside(p);
    down.y = between(p);
    down_->forward(down);
    Pass up = inside(p);
    up.weights = p.weights + up_offset();
    up.x = down.y;
    up.y = spare(p);
    up_->forward(up);
    device_.scale({up.y, outputs}, scale_);
    device_.add({p.y, outputs}, {up.y, outputs});
  }

  void backward(const Pass& p) override {
    const size_t outputs = static_cast<size_t>(p.rows * s_.positions * s_.out);
    const size_t inputs = static_cast<size_t>(p.rows * s_.positions * s_.in);
    float* between_gradient =
        reinterpret_cast<float*>(p.scratch + padded_bytes(rows() * std::max(s_.in, s_.out)));
    Pass up = inside(p);
    up.weights = p.weights + up_offset();
    up.gradients = p.gradients + up_offset();
    up.x = between(p);
    up.dy = spare(p);
    up.dx = between_gradient;
    device_.copy({p.dy, outputs}, {up.dy, outputs});
    device_.scale({up.dy, outputs}, scale_);
    up_->backward(up);
    Pass down = inside(p);
    down.dy = between_gradient;
    down.dx = p.dx ? spare(p) : nullptr;
    down_->backward(down);
    if (!p.dx) return;
    Pass whole = with_state(p);
    whole.scratch = inside(p).scratch;
    whole_->backward(whole);
    device_.add({p.dx, inputs}, {down.dx, inputs});
  }

 private:
  int64_t rows() const { return s_.batch * s_.positions; }
  int64_t up_offset() const { return aligned_floats(s_.in * rank_); }
  DenseSpec part(int64_t in, int64_t out, bool needs_dx) const {
    return {.batch = s_.batch,
            .positions = s_.positions,
            .in = in,
            .out = out,
            .needs_dx = needs_dx,
            .transposed = true};
  }
  float* between(const Pass& p) const {
    return reinterpret_cast<float*>(p.stash + whole_->needs().stash);
  }
  float* spare(const Pass& p) const { return reinterpret_cast<float*>(p.scratch); }
  Pass inside(const Pass& p) const {
    Pass q = p;
    q.scratch =
        p.scratch + padded_bytes(rows() * std::max(s_.in, s_.out)) + padded_bytes(rows() * rank_);
    return q;
  }
  Pass with_state(const Pass& p) const {
    Pass q = inside(p);
    q.weights = p.state;
    return q;
  }

  Device& device_;
  DenseSpec s_;
  int64_t rank_;
  float scale_;
  std::unique_ptr<Kernel> whole_, down_, up_;
};

}  // namespace

std::vector<ParameterSpec> Frozen::state(const SampleShape& in) const {
  std::vector<ParameterSpec> all = inside_->parameters(in);
  for (ParameterSpec& spec : all) spec.frozen = true;
  return all;
}

std::unique_ptr<Kernel> Frozen::prepare(Device& device, const Placement& p) const {
  Placement place = p;
  place.frozen = true;
  // No scratch gradients are needed if backward never runs or if the weights are tied: then the
  // kernel itself skips them (Placement::frozen).
  const bool discards = p.needs_dx && !inside_->tied_to(SampleShape(p.in));
  return std::make_unique<FrozenKernel>(
      inside_->prepare(device, place),
      discards ? arena_floats(inside_->parameters(SampleShape(p.in))) : 0);
}

std::string AdaptedDense::text() const {
  return rank_ == 0 ? fmt::format("dense {}", outputs_)
                    : fmt::format("dense {} lora {} alpha {}", outputs_, rank_, alpha_);
}

std::vector<ParameterSpec> AdaptedDense::parameters(const SampleShape& in) const {
  if (rank_ == 0) return {};
  const int64_t inputs = in.shape.channels();
  const auto matrix = [](const char* name, int64_t rows, int64_t columns, double deviation) {
    return ParameterSpec{.name = name,
                         .stored = {rows, columns},
                         .axes = {0, 1},
                         .canonical = {rows, columns},
                         .deviation = deviation};
  };
  return {matrix("lora_A", rank_, inputs, 0.02), matrix("lora_B", outputs_, rank_, 0)};
}

std::vector<ParameterSpec> AdaptedDense::state(const SampleShape& in) const {
  const int64_t inputs = in.shape.channels();
  return {{.name = "weight",
           .stored = {inputs, outputs_},
           .axes = {0, 1},
           .canonical = {inputs, outputs_},
           .deviation = 0.02,
           .frozen = true},
          {.name = "bias",
           .stored = {outputs_},
           .axes = {0},
           .canonical = {outputs_},
           .role = Role::bias,
           .deviation = 0,
           .frozen = true}};
}

double AdaptedDense::flops(const SampleShape& in) const {
  const auto inputs = static_cast<double>(in.shape.channels());
  return 2.0 * static_cast<double>(in.shape[0]) *
         (inputs * static_cast<double>(outputs_) +
          static_cast<double>(rank_) * (inputs + static_cast<double>(outputs_)));
}

std::unique_ptr<Kernel> AdaptedDense::prepare(Device& device, const Placement& p) const {
  const DenseSpec whole{.batch = p.batch,
                        .positions = p.in[0],
                        .in = p.in.channels(),
                        .out = outputs_,
                        .needs_dx = p.needs_dx,
                        .frozen = true};
  if (rank_ == 0) return std::make_unique<FrozenKernel>(device.prepare(whole), 0);
  return std::make_unique<AdaptedKernel>(device, whole, rank_,
                                         static_cast<float>(alpha_ / static_cast<double>(rank_)));
}

}  // namespace lockstep
