#include "os/buffer.h"
#include "tensor/device/cpu/conv/conv_algorithms.h"
#include "tensor/device/cpu/gemm/gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/device/cpu/conv/conv_winograd_weights.cpp"
#include <hwy/foreach_target.h>
//
#include "tensor/device/cpu/conv/winograd-inl.h"

// The weight gradient of Winograd's F(2x2, 3x3), with each step of forward (conv_winograd.cpp)
// transposed: M' = A dz A^T for each tile, U' = the sum over tiles of M' V for each of 16 points (a
// matrix product), dw = G^T U' G.

#ifndef LOCKSTEP_WINOGRAD_WEIGHTS_JOB
#define LOCKSTEP_WINOGRAD_WEIGHTS_JOB
namespace lockstep {
struct WinogradWeightsJob {
  const ConvSpec* spec;
  PaddedImages x;
  const float* dz;
  int64_t tiles_y, tiles_x;
  int64_t first, room;  // the first tile of this chunk, its capacity in tiles
  float* v;             // [16][tile][channel]
  float* m;             // [16][tile][filter]
};
}  // namespace lockstep
#endif

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

// One row or column of A d A^T: (d0, d1) to (d0, d0 + d1, d0 - d1, -d1)
HWY_INLINE void spread_two(Vec d0, Vec d1, Vec (&to)[4]) {
  to[0] = d0;
  to[1] = hn::Add(d0, d1);
  to[2] = hn::Sub(d0, d1);
  to[3] = hn::Neg(d1);
}

void spread_tile(const WinogradWeightsJob& job, const float* dz, bool right, bool below, float* m) {
  const int64_t filters = job.spec->out.channels(), row = job.spec->out.width() * filters;
  const int64_t stride = job.room * filters;
  const Vec zero = hn::Zero(Floats());
  for (int64_t f = 0; f < filters; f += lanes()) {
    const int64_t left = filters - f;
    const Vec d00 = load_part(dz + f, left);
    const Vec d01 = right ? load_part(dz + filters + f, left) : zero;
    const Vec d10 = below ? load_part(dz + row + f, left) : zero;
    const Vec d11 = right && below ? load_part(dz + row + filters + f, left) : zero;
    Vec a[4], b[4], points[4];
    spread_two(d00, d10, a);
    spread_two(d01, d11, b);
    for (int r = 0; r < 4; ++r) {
      spread_two(a[r], b[r], points);
      for (int c = 0; c < 4; ++c) store_part(points[c], m + (r * 4 + c) * stride + f, left);
    }
  }
}

// V and M' of tiles [begin, end) of the chunk.
void transform_chunk(const WinogradWeightsJob& job, int64_t begin, int64_t end) {
  const ConvSpec& s = *job.spec;
  const int64_t per_sample = job.tiles_y * job.tiles_x;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t n = (job.first + i) / per_sample, p = (job.first + i) % per_sample;
    const int64_t oy = p / job.tiles_x * 2, ox = p % job.tiles_x * 2;
    transform_tile(
        job.x.data + n * job.x.sample_pitch + oy * job.x.row_pitch + ox * s.in.channels(),
        job.x.row_pitch, s.in.channels(), job.v + i * s.in.channels(), job.room * s.in.channels());
    spread_tile(job, job.dz + ((n * s.out.height() + oy) * s.out.width() + ox) * s.out.channels(),
                ox + 1 < s.out.width(), oy + 1 < s.out.height(), job.m + i * s.out.channels());
  }
}

// (u0, u1, u2, u3) to (u0 + s, (u1 - u2) / 2, s + u3) with s = (u1 + u2) / 2
HWY_INLINE void gather_three(Vec u0, Vec u1, Vec u2, Vec u3, Vec (&to)[3]) {
  const Vec half = hn::Set(Floats(), 0.5f);
  const Vec sum = hn::Mul(half, hn::Add(u1, u2));
  to[0] = hn::Add(u0, sum);
  to[1] = hn::Mul(half, hn::Sub(u1, u2));
  to[2] = hn::Add(sum, u3);
}

// dw (+)= G^T U' G for filters [f0, f1); u: [16][filter][channel]
void gather_filters(const float* u, int64_t filters, int64_t channels, int64_t f0, int64_t f1,
                    bool accumulate, float* dw) {
  const int64_t point = filters * channels;
  for (int64_t f = f0; f < f1; ++f)
    for (int64_t c = 0; c < channels; c += lanes()) {
      const int64_t left = channels - c;
      const float* from = u + f * channels + c;
      Vec rows[4][3];
      for (int r = 0; r < 4; ++r)
        gather_three(load_part(from + (r * 4) * point, left),
                     load_part(from + (r * 4 + 1) * point, left),
                     load_part(from + (r * 4 + 2) * point, left),
                     load_part(from + (r * 4 + 3) * point, left), rows[r]);
      for (int kx = 0; kx < 3; ++kx) {
        Vec column[3];
        gather_three(rows[0][kx], rows[1][kx], rows[2][kx], rows[3][kx], column);
        for (int ky = 0; ky < 3; ++ky) {
          float* to = dw + (f * 9 + ky * 3 + kx) * channels + c;
          store_part(accumulate ? hn::Add(column[ky], load_part(to, left)) : column[ky], to, left);
        }
      }
    }
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(transform_chunk);
HWY_EXPORT(gather_filters);

namespace {

class WinogradWeightGradient final : public ConvWeightGradient {
 public:
  WinogradWeightGradient(const ConvSpec& spec, ThreadPool& pool)
      : s_(spec),
        pool_(pool),
        tiles_y_((spec.out.height() + 1) / 2),
        tiles_x_((spec.out.width() + 1) / 2),
        room_(std::min<int64_t>(256, spec.batch * tiles_y_ * tiles_x_)) {}

  const char* name() const override { return "winograd"; }
  PaddedExtent extent() const override {
    return {std::max(window_extent(s_).rows, 2 * tiles_y_ + 2),
            std::max(window_extent(s_).columns, 2 * tiles_x_ + 2)};
  }
  size_t scratch_bytes() const override {
    return static_cast<size_t>(u_floats() + points * room_ * (channels() + filters())) *
               sizeof(float) +
           gemm_scratch_bytes(pool_.threads());
  }

  void run(int64_t rows, const PaddedImages& x, const float* dy, const uint8_t*, float* dw,
           bool accumulate, std::byte* scratch) override {
    float* u = reinterpret_cast<float*>(scratch);
    float* v = u + u_floats();
    float* m = v + points * room_ * channels();
    auto* gemm_memory = reinterpret_cast<std::byte*>(m + points * room_ * filters());
    const int64_t tiles = rows * tiles_y_ * tiles_x_;
    for (int64_t first = 0; first < tiles; first += room_) {
      const int64_t count = std::min(room_, tiles - first);
      const WinogradWeightsJob job{.spec = &s_,
                                   .x = x,
                                   .dz = dy,
                                   .tiles_y = tiles_y_,
                                   .tiles_x = tiles_x_,
                                   .first = first,
                                   .room = room_,
                                   .v = v,
                                   .m = m};
      pool_.split(count, 4, [&](int64_t begin, int64_t end, int) {
        HWY_DYNAMIC_DISPATCH(transform_chunk)(job, begin, end);
      });
      pool_.split(points, 1, [&](int64_t begin, int64_t end, int member) {
        for (int64_t t = begin; t < end; ++t)
          run_alone({.m = filters(),
                     .n = channels(),
                     .k = count,
                     .a = transposed(m + t * room_ * filters(), filters()),
                     .b = row_major(v + t * room_ * channels(), channels()),
                     .c = u + t * filters() * channels(),
                     .c_stride = channels(),
                     .accumulate = first > 0},
                    gemm_memory + static_cast<size_t>(member) * gemm_scratch_bytes(1));
      });
    }
    pool_.split(filters(), 1, [&](int64_t begin, int64_t end, int) {
      HWY_DYNAMIC_DISPATCH(gather_filters)(u, filters(), channels(), begin, end, accumulate, dw);
    });
  }

 private:
  static constexpr int64_t points = 16;
  int64_t channels() const { return s_.in.channels(); }
  int64_t filters() const { return s_.out.channels(); }
  int64_t u_floats() const { return points * filters() * channels(); }

  ConvSpec s_;
  ThreadPool& pool_;
  int64_t tiles_y_, tiles_x_, room_;
};

double cost(const ConvSpec& s) {
  const Window& w = s.window;
  const bool fits = w.height == 3 && w.width == 3 && w.stride_y == 1 && w.stride_x == 1;
  if (!fits || s.max_pool || s.in.channels() < 8 || s.out.channels() < 8) return -1;
  const int64_t tiles = (s.out.height() + 1) / 2 * ((s.out.width() + 1) / 2);
  const double c = double(s.in.channels()), f = double(s.out.channels());
  return double(tiles) * (32 * c * f / 80 + 8 * (c + f)) + 20 * c * f / double(s.batch);
}

}  // namespace

ConvCandidate<ConvWeightGradient> winograd_weight_gradient() {
  return {"winograd", cost, [](const ConvSpec& s, ThreadPool& pool) {
            return std::unique_ptr<ConvWeightGradient>(
                std::make_unique<WinogradWeightGradient>(s, pool));
          }};
}

}  // namespace lockstep
#endif
