#include "tensor/device/guarded/guarded_device.h"

#include <array>

#include "base/error.h"
#include "tensor/device/guarded/guarded_memory.h"

namespace lockstep {
namespace {

class GuardedKernel final : public Kernel {
 public:
  GuardedKernel(std::unique_ptr<Kernel> inside, const GuardedMemory& memory)
      : inside_(std::move(inside)), memory_(memory) {}
  KernelNeeds needs() const override { return inside_->needs(); }
  const char* name() const override { return inside_->name(); }
  void forward(const Pass& pass) override { inside_->forward(translated(pass)); }
  void backward(const Pass& pass) override { inside_->backward(translated(pass)); }

 private:
  Pass translated(const Pass& pass) const {
    Pass p = pass;
    p.x = memory_.inside(pass.x, "x");
    p.y = memory_.inside(pass.y, "y");
    p.dy = memory_.inside(pass.dy, "dy");
    p.dx = memory_.inside(pass.dx, "dx");
    p.weights = memory_.inside(pass.weights, "weights");
    p.gradients = memory_.inside(pass.gradients, "gradients");
    p.state = memory_.inside(pass.state, "state");
    p.stash = memory_.inside(pass.stash, "stash");
    p.scratch = memory_.inside(pass.scratch, "scratch");
    p.memory = memory_.inside(pass.memory, "memory");
    return p;
  }

  std::unique_ptr<Kernel> inside_;
  const GuardedMemory& memory_;
};

class GuardedLoss final : public LossKernel {
 public:
  GuardedLoss(std::unique_ptr<LossKernel> inside, const GuardedMemory& memory)
      : inside_(std::move(inside)), memory_(memory) {}
  LossSums run(int64_t rows, const float* y, const Targets& targets, float* dy,
               int64_t divisor) override {
    return inside_->run(rows, memory_.inside(y, "y"), targets, memory_.inside(dy, "dy"), divisor);
  }

 private:
  std::unique_ptr<LossKernel> inside_;
  const GuardedMemory& memory_;
};

class GuardedUpdate final : public UpdateKernel {
 public:
  GuardedUpdate(std::unique_ptr<UpdateKernel> inside, const GuardedMemory& memory)
      : inside_(std::move(inside)), memory_(memory) {}
  void run(std::span<float> weights, std::span<const float> gradients,
           std::span<const std::span<float>> state, int64_t step, float lr, float scale) override {
    std::array<std::span<float>, 2> translated;
    ENSURE(state.size() <= translated.size());
    for (size_t i = 0; i < state.size(); ++i) translated[i] = memory_.inside(state[i], "state");
    inside_->run(memory_.inside(weights, "weights"), memory_.inside(gradients, "gradients"),
                 std::span(translated).first(state.size()), step, lr, scale);
  }

 private:
  std::unique_ptr<UpdateKernel> inside_;
  const GuardedMemory& memory_;
};

}  // namespace

GuardedDevice::GuardedDevice(std::unique_ptr<Device> inside)
    : inside_(std::move(inside)), memory_(std::make_shared<GuardedMemory>()) {}

GuardedDevice::~GuardedDevice() = default;

std::unique_ptr<Kernel> GuardedDevice::prepare(const KernelSpec& spec) {
  return std::make_unique<GuardedKernel>(inside_->prepare(spec), *memory_);
}

std::unique_ptr<LossKernel> GuardedDevice::prepare(const LossSpec& spec) {
  return std::make_unique<GuardedLoss>(inside_->prepare(spec), *memory_);
}

std::unique_ptr<UpdateKernel> GuardedDevice::prepare(const UpdateSpec& spec) {
  return std::make_unique<GuardedUpdate>(inside_->prepare(spec), *memory_);
}

// Shares memory_, because memory may outlive the device.
DeviceMemory GuardedDevice::allocate(size_t bytes) {
  return {memory_->reserve(bytes), bytes,
          [memory = memory_](std::byte* address) { memory->release(address); }};
}

void GuardedDevice::upload(std::span<const float> host, std::span<float> to) {
  memory_->expect_host(host.data(), "host");
  inside_->upload(host, memory_->inside(to, "to"));
}

void GuardedDevice::download(std::span<const float> from, std::span<float> host) {
  memory_->expect_host(host.data(), "host");
  inside_->download(memory_->inside(from, "from"), host);
}

void GuardedDevice::fill(std::span<float> values, float value) {
  inside_->fill(memory_->inside(values, "values"), value);
}

void GuardedDevice::copy(std::span<const float> from, std::span<float> to) {
  inside_->copy(memory_->inside(from, "from"), memory_->inside(to, "to"));
}

void GuardedDevice::add_scaled(std::span<float> into, std::span<const float> from, float factor) {
  inside_->add_scaled(memory_->inside(into, "into"), memory_->inside(from, "from"), factor);
}

void GuardedDevice::scale(std::span<float> values, float factor) {
  inside_->scale(memory_->inside(values, "values"), factor);
}

void GuardedDevice::dot_products(std::span<const float> a, std::span<const float> b,
                                 std::span<const size_t> ends, std::span<double> sums) {
  inside_->dot_products(memory_->inside(a, "a"), memory_->inside(b, "b"), ends, sums);
}

std::string GuardedDevice::description() const { return "guarded " + inside_->description(); }

}  // namespace lockstep
