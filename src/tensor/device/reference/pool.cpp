#include <algorithm>

#include "tensor/device/reference/reference_device.h"

namespace lockstep {
namespace {

// Padding never wins a maximum; an average divides by the whole window, padding included.
class ReferencePool final : public Kernel {
 public:
  explicit ReferencePool(const PoolSpec& spec) : s_(spec) {}
  const char* name() const override { return "reference"; }

  void forward(const Pass& p) override {
    for (int64_t n = 0; n < p.rows; ++n) {
      const float* x = p.x + n * s_.in.elements();
      for_each_output([&](int64_t oy, int64_t ox, int64_t c, int64_t at) {
        double sum = 0;
        int64_t winner = -1;
        for_each_input(oy, ox, c, [&](int64_t in) {
          sum += x[in];
          if (winner < 0 || x[in] > x[winner]) winner = in;
        });
        p.y[n * s_.out.elements() + at] =
            s_.kind == PoolKind::max ? x[winner] : float(sum / area());
      });
    }
  }

  void backward(const Pass& p) override {
    if (!p.dx) return;
    std::fill(p.dx, p.dx + p.rows * s_.in.elements(), 0.0f);
    for (int64_t n = 0; n < p.rows; ++n) {
      const float* x = p.x + n * s_.in.elements();
      float* dx = p.dx + n * s_.in.elements();
      for_each_output([&](int64_t oy, int64_t ox, int64_t c, int64_t at) {
        const float dy = p.dy[n * s_.out.elements() + at];
        int64_t winner = -1;
        for_each_input(oy, ox, c, [&](int64_t in) {
          if (s_.kind == PoolKind::average) dx[in] += float(dy / area());
          if (winner < 0 || x[in] > x[winner]) winner = in;
        });
        if (s_.kind == PoolKind::max) dx[winner] += dy;
      });
    }
  }

 private:
  double area() const { return double(s_.window.height * s_.window.width); }

  template <typename Visit>
  void for_each_output(Visit visit) const {
    for (int64_t oy = 0; oy < s_.out.height(); ++oy)
      for (int64_t ox = 0; ox < s_.out.width(); ++ox)
        for (int64_t c = 0; c < s_.out.channels(); ++c)
          visit(oy, ox, c, (oy * s_.out.width() + ox) * s_.out.channels() + c);
  }

  template <typename Visit>
  void for_each_input(int64_t oy, int64_t ox, int64_t c, Visit visit) const {
    const Window& w = s_.window;
    for (int64_t ky = 0; ky < w.height; ++ky)
      for (int64_t kx = 0; kx < w.width; ++kx) {
        const int64_t iy = oy * w.stride_y + ky - w.pad_y, ix = ox * w.stride_x + kx - w.pad_x;
        if (iy < 0 || ix < 0 || iy >= s_.in.height() || ix >= s_.in.width()) continue;
        visit((iy * s_.in.width() + ix) * s_.in.channels() + c);
      }
  }

  PoolSpec s_;
};

}  // namespace

std::unique_ptr<Kernel> ReferenceDevice::make(const PoolSpec& spec) {
  return std::make_unique<ReferencePool>(spec);
}

}  // namespace lockstep
