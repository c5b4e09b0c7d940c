#include <cmath>
#include <vector>

#include "tensor/device/reference/reference_device.h"

namespace lockstep {
namespace {

// Values are normalised in groups: in batch normalisation all rows and positions of a channel, in
// layer normalisation all channels of a position.
class ReferenceNorm final : public Kernel {
 public:
  explicit ReferenceNorm(const NormSpec& spec) : s_(spec) {}
  const char* name() const override { return "reference"; }

  void forward(const Pass& p) override {
    const float* shift = p.weights + aligned_floats(s_.channels);
    for (int64_t group = 0; group < groups(p.rows); ++group) {
      const Moments m = moments(p, group);
      if (s_.kind == NormKind::batch && p.training) {
        const double unbiased = m.variance * m.count / std::max(1.0, m.count - 1);
        p.state[group] += s_.momentum * float(m.mean - p.state[group]);
        float& running = p.state[aligned_floats(s_.channels) + group];
        running += s_.momentum * float(unbiased - running);
      }
      for_each(p.rows, group, [&](int64_t at, int64_t c) {
        const double y = (p.x[at] - m.mean) * m.inverse * p.weights[c] + shift[c];
        p.y[at] = float(s_.relu && y < 0 ? 0 : y);
      });
    }
  }

  void backward(const Pass& p) override {
    const int64_t offset = aligned_floats(s_.channels);
    std::vector<double> d_scale(size_t(s_.channels)), d_shift(size_t(s_.channels));
    for (int64_t group = 0; group < groups(p.rows); ++group) {
      const Moments m = moments(p, group);
      double sum = 0, dot = 0;  // sums of dxhat and of dxhat * xhat
      const auto dy_at = [&](int64_t at) {
        return s_.relu && p.y[at] <= 0 ? 0.0 : double(p.dy[at]);
      };
      for_each(p.rows, group, [&](int64_t at, int64_t c) {
        const double xhat = (p.x[at] - m.mean) * m.inverse;
        d_scale[size_t(c)] += dy_at(at) * xhat;
        d_shift[size_t(c)] += dy_at(at);
        sum += dy_at(at) * p.weights[c];
        dot += dy_at(at) * p.weights[c] * xhat;
      });
      if (!p.dx) continue;
      for_each(p.rows, group, [&](int64_t at, int64_t c) {
        const double xhat = (p.x[at] - m.mean) * m.inverse;
        p.dx[at] =
            float(m.inverse * (dy_at(at) * p.weights[c] - sum / m.count - xhat * dot / m.count));
      });
    }
    for (int64_t c = 0; c < s_.channels; ++c) {
      p.gradients[c] = float((p.accumulate ? p.gradients[c] : 0) + d_scale[size_t(c)]);
      float& shift = p.gradients[offset + c];
      shift = float((p.accumulate ? shift : 0) + d_shift[size_t(c)]);
    }
  }

 private:
  struct Moments {
    double mean, variance, inverse, count;
  };

  int64_t groups(int64_t rows) const {
    return s_.kind == NormKind::batch ? s_.channels : rows * s_.positions;
  }

  Moments moments(const Pass& p, int64_t group) const {
    if (s_.kind == NormKind::batch && !p.training) {
      const double variance = p.state[aligned_floats(s_.channels) + group];
      return {p.state[group], variance, 1 / std::sqrt(variance + s_.epsilon), 1};
    }
    double sum = 0, squares = 0, count = 0;
    for_each(p.rows, group, [&](int64_t at, int64_t) { sum += p.x[at], ++count; });
    const double mean = sum / count;
    for_each(p.rows, group,
             [&](int64_t at, int64_t) { squares += (p.x[at] - mean) * (p.x[at] - mean); });
    const double variance = squares / count;
    return {mean, variance, 1 / std::sqrt(variance + s_.epsilon), count};
  }

  template <typename Visit>
  void for_each(int64_t rows, int64_t group, Visit visit) const {
    if (s_.kind == NormKind::batch)
      for (int64_t position = 0; position < rows * s_.positions; ++position)
        visit(position * s_.channels + group, group);
    else
      for (int64_t c = 0; c < s_.channels; ++c) visit(group * s_.channels + c, c);
  }

  NormSpec s_;
};

}  // namespace

std::unique_ptr<Kernel> ReferenceDevice::make(const NormSpec& spec) {
  return std::make_unique<ReferenceNorm>(spec);
}

}  // namespace lockstep
