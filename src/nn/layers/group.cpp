#include "nn/layers/group.h"

#include "nn/layers/nested_index.h"
#include "nn/sequence.h"

namespace lockstep {
namespace {

class RecomputingKernel final : public Kernel {
 public:
  explicit RecomputingKernel(std::unique_ptr<Sequence> body) : body_(std::move(body)) {}
  const char* name() const override { return "recomputing"; }

  KernelNeeds needs() const override {
    const KernelNeeds body = body_->needs();
    return {.stash = 0, .scratch = body.stash + body.scratch, .memory = body.memory};
  }

  void forward(const Pass& p) override { body_->forward(inside(p)); }

  // The second forward pass computes the same values: dropout masks depend only on the keys.
  void backward(const Pass& p) override {
    Pass again = inside(p);
    again.listener = nullptr;
    body_->forward(again);
    body_->backward(inside(p));
  }

 private:
  Pass inside(const Pass& p) const {
    Pass q = p;
    q.stash = p.scratch;
    q.scratch = p.scratch + body_->needs().stash;
    return q;
  }

  std::unique_ptr<Sequence> body_;
};

}  // namespace

std::string Group::text() const { return recomputes_ ? "block, recomputed" : "block"; }

SampleShape Group::output(const SampleShape& in) const { return output_of(body_, in); }

std::vector<ParameterSpec> Group::parameters(const SampleShape& in) const {
  return parameters_of(body_, in, "");
}

std::vector<ParameterSpec> Group::state(const SampleShape& in) const {
  return state_of(body_, in, "");
}

double Group::flops(const SampleShape& in) const { return flops_of(body_, in); }

std::unique_ptr<Kernel> Group::prepare(Device& device, const Placement& p) const {
  auto body = std::make_unique<Sequence>(device, body_, p.in, p.batch, p.needs_dx, "",
                                         first_index_inside(p.index, Branch::body));
  if (!recomputes_) return body;
  return std::make_unique<RecomputingKernel>(std::move(body));
}

}  // namespace lockstep
