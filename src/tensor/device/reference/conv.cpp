#include <algorithm>
#include <vector>

#include "tensor/device/reference/reference_device.h"

namespace lockstep {
namespace {

class ReferenceConv final : public Kernel {
 public:
  explicit ReferenceConv(const ConvSpec& spec) : s_(spec) {}
  const char* name() const override { return "reference"; }

  void forward(const Pass& p) override {
    const Shape result = s_.result();
    std::vector<double> z(static_cast<size_t>(s_.out.elements()));
    for (int64_t n = 0; n < p.rows; ++n) {
      convolve(p, n, z.data());
      float* y = p.y + n * result.elements();
      if (!s_.max_pool) {
        std::copy(z.begin(), z.end(), y);
        continue;
      }
      for_each_pooled([&](int64_t at, int64_t winner, double) { y[at] = float(z[size_t(winner)]); },
                      z.data());
    }
  }

  void backward(const Pass& p) override {
    const int64_t weights = s_.out.channels() * s_.taps();
    const int64_t count = aligned_floats(weights) + s_.out.channels();
    std::vector<double> gradients(static_cast<size_t>(count));
    std::vector<double> z(static_cast<size_t>(s_.out.elements())), dz(z.size());
    std::vector<double> dx(static_cast<size_t>(s_.in.elements()));
    for (int64_t n = 0; n < p.rows; ++n) {
      convolve(p, n, z.data());
      const float* dy = p.dy + n * s_.result().elements();
      std::fill(dz.begin(), dz.end(), 0.0);
      if (s_.max_pool)
        for_each_pooled([&](int64_t at, int64_t winner, double) { dz[size_t(winner)] = dy[at]; },
                        z.data());
      else
        std::copy(dy, dy + s_.out.elements(), dz.begin());
      if (s_.relu)
        for (size_t i = 0; i < z.size(); ++i)
          if (z[i] <= 0) dz[i] = 0;

      std::fill(dx.begin(), dx.end(), 0.0);
      for_each_tap([&](int64_t out, int64_t in, int64_t weight) {
        gradients[size_t(weight)] += dz[size_t(out)] * p.x[n * s_.in.elements() + in];
        dx[size_t(in)] += dz[size_t(out)] * p.weights[weight];
      });
      for (size_t i = 0; i < dz.size(); ++i)
        gradients[size_t(aligned_floats(weights)) + i % size_t(s_.out.channels())] += dz[i];
      if (p.dx) std::copy(dx.begin(), dx.end(), p.dx + n * s_.in.elements());
    }
    for (int64_t i = 0; i < count; ++i)
      p.gradients[i] = float((p.accumulate ? p.gradients[i] : 0) + gradients[size_t(i)]);
  }

 private:
  void convolve(const Pass& p, int64_t n, double* z) const {
    const float* bias = p.weights + aligned_floats(s_.out.channels() * s_.taps());
    for (int64_t i = 0; i < s_.out.elements(); ++i) z[i] = bias[i % s_.out.channels()];
    const float* x = p.x + n * s_.in.elements();
    for_each_tap([&](int64_t out, int64_t in, int64_t weight) {
      z[out] += double(x[in]) * p.weights[weight];
    });
    if (s_.relu)
      for (int64_t i = 0; i < s_.out.elements(); ++i) z[i] = std::max(z[i], 0.0);
  }

  template <typename Visit>
  void for_each_tap(Visit visit) const {
    const Window& w = s_.window;
    for (int64_t oy = 0; oy < s_.out.height(); ++oy)
      for (int64_t ox = 0; ox < s_.out.width(); ++ox)
        for (int64_t ky = 0; ky < w.height; ++ky)
          for (int64_t kx = 0; kx < w.width; ++kx) {
            const int64_t iy = oy * w.stride_y + ky - w.pad_y, ix = ox * w.stride_x + kx - w.pad_x;
            if (iy < 0 || ix < 0 || iy >= s_.in.height() || ix >= s_.in.width()) continue;
            for (int64_t f = 0; f < s_.out.channels(); ++f)
              for (int64_t c = 0; c < s_.in.channels(); ++c)
                visit((oy * s_.out.width() + ox) * s_.out.channels() + f,
                      (iy * s_.in.width() + ix) * s_.in.channels() + c,
                      ((f * w.height + ky) * w.width + kx) * s_.in.channels() + c);
          }
  }

  // visit(pooled index, index of the first maximum of its window, value)
  template <typename Visit>
  void for_each_pooled(Visit visit, const double* z) const {
    const Shape r = s_.result();
    for (int64_t py = 0; py < r.height(); ++py)
      for (int64_t px = 0; px < r.width(); ++px)
        for (int64_t c = 0; c < r.channels(); ++c) {
          int64_t winner = -1;
          for (int64_t k = 0; k < 4; ++k) {
            const int64_t at =
                ((py * 2 + k / 2) * s_.out.width() + px * 2 + k % 2) * r.channels() + c;
            if (winner < 0 || z[at] > z[winner]) winner = at;
          }
          visit((py * r.width() + px) * r.channels() + c, winner, z[winner]);
        }
  }

  ConvSpec s_;
};

}  // namespace

std::unique_ptr<Kernel> ReferenceDevice::make(const ConvSpec& spec) {
  return std::make_unique<ReferenceConv>(spec);
}

}  // namespace lockstep
