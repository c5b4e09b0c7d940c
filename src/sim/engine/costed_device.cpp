#include "sim/engine/costed_device.h"

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "tensor/touched_rows.h"

namespace lockstep {
namespace {

class CostedKernel final : public Kernel {
 public:
  // `first`: it is the first kernel of its network, which starts a micro-batch.
  CostedKernel(const KernelCost& cost, double inference, int64_t rows, bool first, bool sparse,
               VirtualClock& clock, std::unique_ptr<Kernel> inside)
      : cost_(cost),
        inference_(inference),
        rows_(static_cast<double>(rows)),
        first_(first),
        sparse_(sparse),
        clock_(clock),
        inside_(std::move(inside)) {}

  KernelNeeds needs() const override { return inside_ ? inside_->needs() : KernelNeeds{}; }
  const char* name() const override { return inside_ ? inside_->name() : "ghost"; }
  void forward(const Pass& pass) override {
    if (inside_) inside_->forward(pass);
    if (first_) clock_.next_micro_batch();
    spend(pass, pass.training ? cost_.forward : cost_.forward * inference_);
  }
  void backward(const Pass& pass) override {
    if (inside_)
      inside_->backward(pass);
    else if (sparse_)
      touch(pass);
    spend(pass, cost_.backward);
  }

 private:
  void spend(const Pass& pass, double seconds) {
    clock_.spend(seconds * static_cast<double>(pass.rows) / rows_);
  }
  // Which rows are sent depends on the input, not on arithmetic.
  static void touch(const Pass& pass) {
    if (!pass.accumulate) pass.touched->clear();
    const auto begin = static_cast<size_t>(pass.sparse.begins[0]);
    const auto end = static_cast<size_t>(pass.sparse.begins[static_cast<size_t>(pass.rows)]);
    pass.touched->add(pass.sparse.columns.subspan(begin, end - begin));
  }

  KernelCost cost_;
  double inference_, rows_;
  bool first_, sparse_;
  VirtualClock& clock_;
  std::unique_ptr<Kernel> inside_;
};

class CostedLoss final : public LossKernel {
 public:
  CostedLoss(double seconds, int64_t rows, VirtualClock& clock, std::unique_ptr<LossKernel> inside)
      : seconds_(seconds),
        rows_(static_cast<double>(rows)),
        clock_(clock),
        inside_(std::move(inside)) {}
  LossSums run(int64_t rows, const float* y, const Targets& targets, float* dy,
               int64_t divisor) override {
    clock_.spend(seconds_ * static_cast<double>(rows) / rows_);
    return inside_ ? inside_->run(rows, y, targets, dy, divisor) : LossSums{};
  }

 private:
  double seconds_, rows_;
  VirtualClock& clock_;
  std::unique_ptr<LossKernel> inside_;
};

class CostedUpdate final : public UpdateKernel {
 public:
  // Seconds by the number of floats.
  using Cost = std::function<double(size_t)>;
  CostedUpdate(Cost cost, VirtualClock& clock, std::unique_ptr<UpdateKernel> inside)
      : cost_(std::move(cost)), clock_(clock), inside_(std::move(inside)) {}
  void run(std::span<float> weights, std::span<const float> gradients,
           std::span<const std::span<float>> state, int64_t step, float lr, float scale) override {
    if (inside_) inside_->run(weights, gradients, state, step, lr, scale);
    clock_.spend(cost_(weights.size()));
  }

 private:
  Cost cost_;
  VirtualClock& clock_;
  std::unique_ptr<UpdateKernel> inside_;
};

bool is_sparse(const KernelSpec& spec) {
  const auto* dense = std::get_if<DenseSpec>(&spec);
  return dense && dense->sparse;
}

}  // namespace

// A network may be prepared several times, also for other batch sizes: costs are scaled by rows. A
// stage of a pipeline has some of the kernels, in the same order.
std::unique_ptr<Kernel> CostedDevice::prepare(const KernelSpec& spec) {
  const auto without_batch = [](const std::string& kernel) {
    return kernel.substr(0, kernel.rfind(", batch"));
  };
  const std::string kernel = without_batch(text(spec));
  const size_t count = cost_.kernels.size();
  size_t skipped = 0;
  while (skipped < count &&
         without_batch(cost_.kernels[(next_ + skipped) % count].kernel) != kernel)
    ++skipped;
  if (skipped == count)
    throw Failure(
        "the profile was measured on another network: it does not have '{}'; measure it again with "
        "'lockstep calibrate'",
        kernel);
  const size_t index = (next_ + skipped) % count;
  const bool first = next_ == 0 || index < next_;
  next_ = index + 1 == count ? 0 : index + 1;
  return std::make_unique<CostedKernel>(cost_.kernels[index], cost_.inference, rows_, first,
                                        is_sparse(spec), clock_,
                                        inside_ ? inside_->prepare(spec) : nullptr);
}

std::unique_ptr<LossKernel> CostedDevice::prepare(const LossSpec& spec) {
  return std::make_unique<CostedLoss>(cost_.micro_batch, rows_, clock_,
                                      inside_ ? inside_->prepare(spec) : nullptr);
}

std::unique_ptr<UpdateKernel> CostedDevice::prepare(const UpdateSpec& spec) {
  return std::make_unique<CostedUpdate>(
      [this](size_t floats) { return of_parameters(floats, cost_.update, cost_.whole_update); },
      clock_, inside_ ? inside_->prepare(spec) : nullptr);
}

double CostedDevice::of_parameters(size_t floats, double per_step, double whole) const {
  const auto count = static_cast<double>(floats), active = static_cast<double>(parameters_);
  return count > active && whole > 0 ? count * whole : count * per_step / active;
}

DeviceMemory CostedDevice::allocate(size_t bytes) {
  return inside_ ? inside_->allocate(bytes) : HostMemoryDevice::allocate(bytes);
}

void CostedDevice::upload(std::span<const float> host, std::span<float> to) {
  if (inside_) inside_->upload(host, to);
}

void CostedDevice::download(std::span<const float> from, std::span<float> host) {
  if (inside_) inside_->download(from, host);
}

void CostedDevice::fill(std::span<float> values, float value) {
  if (inside_) inside_->fill(values, value);
}

void CostedDevice::add_scaled(std::span<float> into, std::span<const float> from, float factor) {
  if (inside_) inside_->add_scaled(into, from, factor);
  clock_.spend(cost_.add * static_cast<double>(into.size()));
}

void CostedDevice::scale(std::span<float> values, float factor) {
  if (inside_) inside_->scale(values, factor);
  clock_.spend(cost_.add * 2 / 3 *
               static_cast<double>(values.size()));  // two of add's three memory streams
}

void CostedDevice::copy(std::span<const float> from, std::span<float> to) {
  if (inside_) inside_->copy(from, to);
  // Rows are packed at cost_.copy; a whole array takes two of add's three memory streams.
  const bool whole = cost_.whole_update > 0 && to.size() > static_cast<size_t>(parameters_);
  clock_.spend((whole ? cost_.add * 2 / 3 : cost_.copy) * static_cast<double>(to.size()));
}

void CostedDevice::dot_products(std::span<const float> a, std::span<const float> b,
                                std::span<const size_t> ends, std::span<double> sums) {
  if (inside_)
    inside_->dot_products(a, b, ends, sums);
  else
    std::ranges::fill(sums, 0.0);
  const double streams = a.data() == b.data() ? 1 : 2;  // a norm reads one array
  clock_.spend(streams * of_parameters(a.size(), cost_.norm, 0));
}

}  // namespace lockstep
