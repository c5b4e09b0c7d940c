#include "tensor/device/cpu/cpu_device.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/device/cpu/pool.cpp"
#include <hwy/foreach_target.h>
//
#include "tensor/device/cpu/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

// The part of a window that lies inside the image, for output (oy, ox).
struct Inside {
  int64_t y0, y1, x0, x1;
  Inside(const PoolSpec& s, int64_t oy, int64_t ox) {
    const int64_t top = oy * s.window.stride_y - s.window.pad_y;
    const int64_t left = ox * s.window.stride_x - s.window.pad_x;
    y0 = std::max<int64_t>(top, 0);
    x0 = std::max<int64_t>(left, 0);
    y1 = std::min(top + s.window.height, s.in.height());
    x1 = std::min(left + s.window.width, s.in.width());
  }
};

// Channels are contiguous in memory: every loop runs over them in vectors, the tail in a masked
// one. `winners`, if not null, receives the position of each maximum in the image.
void pool_sample(const PoolSpec& s, const float* x, float* y, int32_t* winners) {
  const Floats d;
  const hn::RebindToSigned<Floats> di;
  const int64_t channels = s.in.channels();
  const float share = 1.0f / static_cast<float>(s.window.height * s.window.width);
  for (int64_t oy = 0; oy < s.out.height(); ++oy)
    for (int64_t ox = 0; ox < s.out.width(); ++ox) {
      const Inside in(s, oy, ox);
      const int64_t to = (oy * s.out.width() + ox) * channels;
      for (int64_t c = 0; c < channels; c += lanes()) {
        const int64_t left = channels - c;
        const auto load = [&](int64_t iy, int64_t ix) HWY_ATTR {
          return load_part(x + (iy * s.in.width() + ix) * channels + c, left);
        };
        Vec best = s.kind == PoolKind::max ? load(in.y0, in.x0) : hn::Zero(d);
        auto winner = hn::Set(di, static_cast<int32_t>(in.y0 * s.in.width() + in.x0));
        for (int64_t iy = in.y0; iy < in.y1; ++iy)
          for (int64_t ix = in.x0; ix < in.x1; ++ix) {
            const Vec value = load(iy, ix);
            if (s.kind == PoolKind::average) {
              best = hn::Add(best, value);
              continue;
            }
            const auto larger = hn::Gt(value, best);
            best = hn::Max(value, best);
            const auto here = hn::Set(di, static_cast<int32_t>(iy * s.in.width() + ix));
            winner = hn::IfThenElse(hn::RebindMask(di, larger), here, winner);
          }
        if (s.kind == PoolKind::average) best = hn::Mul(best, hn::Set(d, share));
        store_part(best, y + to + c, left);
        if (winners)
          store_part(hn::BitCast(d, winner), reinterpret_cast<float*>(winners + to + c), left);
      }
    }
}

void unpool_average(const PoolSpec& s, const float* dy, float* dx) {
  const Floats d;
  const int64_t channels = s.in.channels();
  const float share = 1.0f / static_cast<float>(s.window.height * s.window.width);
  for (int64_t oy = 0; oy < s.out.height(); ++oy)
    for (int64_t ox = 0; ox < s.out.width(); ++ox) {
      const Inside in(s, oy, ox);
      const float* from = dy + (oy * s.out.width() + ox) * channels;
      for (int64_t iy = in.y0; iy < in.y1; ++iy)
        for (int64_t ix = in.x0; ix < in.x1; ++ix) {
          float* to = dx + (iy * s.in.width() + ix) * channels;
          int64_t c = 0;
          for (; c + lanes() <= channels; c += lanes())
            hn::StoreU(hn::MulAdd(hn::LoadU(d, from + c), hn::Set(d, share), hn::LoadU(d, to + c)),
                       d, to + c);
          for (; c < channels; ++c) to[c] += from[c] * share;
        }
    }
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(pool_sample);
HWY_EXPORT(unpool_average);

namespace {

class CpuPool final : public Kernel {
 public:
  CpuPool(const PoolSpec& spec, ThreadPool& pool) : s_(spec), pool_(pool) {}
  const char* name() const override { return "vector"; }

  KernelNeeds needs() const override {
    if (s_.kind == PoolKind::average) return {};
    return {.stash = static_cast<size_t>(s_.batch * s_.out.elements()) * sizeof(int32_t)};
  }

  void forward(const Pass& p) override {
    pool_.split(p.rows, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n) HWY_DYNAMIC_DISPATCH(pool_sample)
      (s_, p.x + n * s_.in.elements(), p.y + n * s_.out.elements(), winners(p, n));
    });
  }

  void backward(const Pass& p) override {
    if (!p.dx) return;
    pool_.split(p.rows, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n) {
        float* dx = p.dx + n * s_.in.elements();
        const float* dy = p.dy + n * s_.out.elements();
        std::fill(dx, dx + s_.in.elements(), 0.0f);
        if (s_.kind == PoolKind::average) {
          HWY_DYNAMIC_DISPATCH(unpool_average)(s_, dy, dx);
          continue;
        }
        const int32_t* winner = winners(p, n);
        const int64_t channels = s_.in.channels();
        for (int64_t position = 0; position < s_.out.elements(); position += channels)
          for (int64_t c = 0; c < channels; ++c)
            dx[winner[position + c] * channels + c] += dy[position + c];
      }
    });
  }

 private:
  int32_t* winners(const Pass& p, int64_t n) const {
    if (s_.kind == PoolKind::average) return nullptr;
    return reinterpret_cast<int32_t*>(p.stash) + n * s_.out.elements();
  }

  PoolSpec s_;
  ThreadPool& pool_;
};

}  // namespace

std::unique_ptr<Kernel> CpuDevice::make(const PoolSpec& spec) {
  return std::make_unique<CpuPool>(spec, pool_);
}

}  // namespace lockstep
#endif
