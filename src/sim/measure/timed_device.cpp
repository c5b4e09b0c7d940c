#include "sim/measure/timed_device.h"

namespace lockstep {
namespace {

// Appends the seconds between its construction and destruction to `samples`.
class Lap {
 public:
  Lap(const Clock& clock, std::vector<double>& samples)
      : clock_(clock), samples_(samples), start_(clock.seconds()) {}
  ~Lap() { samples_.push_back(clock_.seconds() - start_); }
  Lap(const Lap&) = delete;
  Lap& operator=(const Lap&) = delete;

 private:
  const Clock& clock_;
  std::vector<double>& samples_;
  double start_;
};

class TimedKernel final : public Kernel {
 public:
  TimedKernel(std::unique_ptr<Kernel> inside, const Clock& clock, TimedDevice::KernelTimes& samples)
      : inside_(std::move(inside)), clock_(clock), samples_(samples) {}
  KernelNeeds needs() const override { return inside_->needs(); }
  const char* name() const override { return inside_->name(); }
  void forward(const Pass& pass) override {
    const Lap lap(clock_, samples_.forward);
    inside_->forward(pass);
  }
  void backward(const Pass& pass) override {
    const Lap lap(clock_, samples_.backward);
    inside_->backward(pass);
  }

 private:
  std::unique_ptr<Kernel> inside_;
  const Clock& clock_;
  TimedDevice::KernelTimes& samples_;
};

class TimedLoss final : public LossKernel {
 public:
  TimedLoss(std::unique_ptr<LossKernel> inside, const Clock& clock, std::vector<double>& samples)
      : inside_(std::move(inside)), clock_(clock), samples_(samples) {}
  LossSums run(int64_t rows, const float* y, const Targets& targets, float* dy,
               int64_t divisor) override {
    const Lap lap(clock_, samples_);
    return inside_->run(rows, y, targets, dy, divisor);
  }

 private:
  std::unique_ptr<LossKernel> inside_;
  const Clock& clock_;
  std::vector<double>& samples_;
};

class TimedUpdate final : public UpdateKernel {
 public:
  TimedUpdate(std::unique_ptr<UpdateKernel> inside, const Clock& clock,
              std::vector<double>& samples)
      : inside_(std::move(inside)), clock_(clock), samples_(samples) {}
  void run(std::span<float> weights, std::span<const float> gradients,
           std::span<const std::span<float>> state, int64_t step, float lr, float scale) override {
    const Lap lap(clock_, samples_);
    inside_->run(weights, gradients, state, step, lr, scale);
  }

 private:
  std::unique_ptr<UpdateKernel> inside_;
  const Clock& clock_;
  std::vector<double>& samples_;
};

}  // namespace

std::unique_ptr<Kernel> TimedDevice::prepare(const KernelSpec& spec) {
  kernels_.push_back(std::make_unique<KernelTimes>(KernelTimes{text(spec), {}, {}}));
  return std::make_unique<TimedKernel>(inside_.prepare(spec), clock_, *kernels_.back());
}

void TimedDevice::forget() {
  for (const auto& samples : kernels_) {
    samples->forward.clear();
    samples->backward.clear();
  }
  losses_.clear();
  updates_.clear();
  norms_.clear();
}

std::unique_ptr<LossKernel> TimedDevice::prepare(const LossSpec& spec) {
  return std::make_unique<TimedLoss>(inside_.prepare(spec), clock_, losses_);
}

std::unique_ptr<UpdateKernel> TimedDevice::prepare(const UpdateSpec& spec) {
  return std::make_unique<TimedUpdate>(inside_.prepare(spec), clock_, updates_);
}

void TimedDevice::dot_products(std::span<const float> a, std::span<const float> b,
                               std::span<const size_t> ends, std::span<double> sums) {
  const Lap lap(clock_, norms_);
  inside_.dot_products(a, b, ends, sums);
}

}  // namespace lockstep
