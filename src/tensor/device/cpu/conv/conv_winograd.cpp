#include "os/buffer.h"
#include "tensor/device/cpu/conv/conv_algorithms.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/device/cpu/conv/conv_winograd.cpp"
#include <hwy/foreach_target.h>
//
#include "tensor/device/cpu/conv/window_tiles-inl.h"
#include "tensor/device/cpu/conv/winograd-inl.h"

// Winograd's F(2x2, 3x3): 2 × 2 outputs from a 4 × 4 tile of the image with 16 products instead of
// 36. With B, G, A the matrices of Lavin and Gray (2016):
//   V = B^T tile B      U = G filter G^T      y = A^T (sum over channels of U · V) A
// One tile is one pooling window, so pooling is free. Sums are in a different order than in a
// direct convolution: results differ by rounding, but reproducibly.

#ifndef LOCKSTEP_WINOGRAD_JOB
#define LOCKSTEP_WINOGRAD_JOB
namespace lockstep {
struct WinogradJob {
  PaddedImages x;
  int64_t channels, outputs;  // channels of the images, of the result
  int64_t tiles_y, tiles_x;
  int64_t height, width;  // of the result, before pooling
  const float* u;         // [panel][16][channel][2 vectors of outputs]
  const float* bias;      // padded to whole panels; may be null
  bool relu, max_pool;
  float* y;
  uint8_t* winners;
};
constexpr int64_t most_winograd_rows = 48;  // tiles processed together, a multiple of 6
}  // namespace lockstep
#endif

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

// U = G filter G^T for a vector of channels or filters: taps[ky][kx] in, 16 points out.
HWY_INLINE void transform_filter(const Vec (&taps)[3][3], Vec (&u)[16]) {
  const Vec half = hn::Set(Floats(), 0.5f);
  Vec rows[4][3];  // G filter
  for (int x = 0; x < 3; ++x) {
    const Vec outer = hn::Mul(half, hn::Add(taps[0][x], taps[2][x]));
    const Vec inner = hn::Mul(half, taps[1][x]);
    rows[0][x] = taps[0][x];
    rows[1][x] = hn::Add(outer, inner);
    rows[2][x] = hn::Sub(outer, inner);
    rows[3][x] = taps[2][x];
  }
  for (int r = 0; r < 4; ++r) {
    const Vec outer = hn::Mul(half, hn::Add(rows[r][0], rows[r][2]));
    const Vec inner = hn::Mul(half, rows[r][1]);
    u[r * 4] = rows[r][0];
    u[r * 4 + 1] = hn::Add(outer, inner);
    u[r * 4 + 2] = hn::Sub(outer, inner);
    u[r * 4 + 3] = rows[r][2];
  }
}

// U of one panel of filters, for forward. `memory` holds 16 × 2 vectors × channels.
void transform_filters(const float* weights, int64_t filters, int64_t channels, int64_t panel,
                       float* u, float* memory) {
  const int64_t width = tile_columns(), first = panel * width;
  const int64_t count = std::min(width, filters - first);
  for (int64_t f = 0; f < count; ++f)
    for (int64_t c = 0; c < channels; c += lanes()) {
      const int64_t left = channels - c;
      Vec taps[3][3], points[16];
      for (int ky = 0; ky < 3; ++ky)
        for (int kx = 0; kx < 3; ++kx)
          taps[ky][kx] = load_part(weights + ((first + f) * 9 + ky * 3 + kx) * channels + c, left);
      transform_filter(taps, points);
      for (int64_t t = 0; t < tile_points; ++t)
        store_part(points[t], memory + (t * width + f) * channels + c, left);
    }
  for (int64_t t = 0; t < tile_points; ++t)
    transpose_panel(memory + t * width * channels, channels, count, channels,
                    u + (panel * tile_points + t) * channels * width, width);
}

// U of one panel of channels, for the input gradient: the filters rotated by 180 degrees.
void transform_turned_filters(const float* weights, int64_t filters, int64_t channels,
                              int64_t panel, float* u) {
  const int64_t width = tile_columns(), first = panel * width;
  for (int64_t f = 0; f < filters; ++f)
    for (int64_t c = 0; c < width; c += lanes()) {
      const int64_t left = std::max<int64_t>(0, channels - first - c);
      Vec taps[3][3], points[16];
      for (int ky = 0; ky < 3; ++ky)
        for (int kx = 0; kx < 3; ++kx)
          taps[2 - ky][2 - kx] =
              left == 0 ? hn::Zero(Floats())
                        : load_part(weights + (f * 9 + ky * 3 + kx) * channels + first + c, left);
      transform_filter(taps, points);
      for (int64_t t = 0; t < tile_points; ++t)
        hn::StoreU(points[t], Floats(), u + ((panel * tile_points + t) * filters + f) * width + c);
    }
}

// m[row × 2 vectors] = V rows · U panel, for one point
struct PointTile {
  const float* v;
  int64_t channels;
  const float* u;
  float* m;

  template <int Rows>
  HWY_INLINE void run() const {
    const float* rows[Rows];
    for (int r = 0; r < Rows; ++r) rows[r] = v + r * channels;
    Tile<Rows> tile;
    tile.clear();
    tile.multiply(rows, 1, channels, u, tile_columns());
    tile.store(m, tile_columns(), tile_columns());
  }
};

// The 2 × 2 outputs of one tile and vector of outputs: A^T m A, m[point * 6 rows * 2 vectors].
HWY_INLINE void tile_outputs(const float* m, Vec (&y)[4]) {
  const Floats d;
  const int64_t point = tile_rows * tile_columns();
  Vec s[2][4];
  for (int x = 0; x < 4; ++x) {
    const Vec m0 = hn::LoadU(d, m + x * point), m1 = hn::LoadU(d, m + (4 + x) * point);
    const Vec m2 = hn::LoadU(d, m + (8 + x) * point), m3 = hn::LoadU(d, m + (12 + x) * point);
    s[0][x] = hn::Add(hn::Add(m0, m1), m2);
    s[1][x] = hn::Sub(hn::Sub(m1, m2), m3);
  }
  for (int h = 0; h < 2; ++h) {
    y[2 * h] = hn::Add(hn::Add(s[h][0], s[h][1]), s[h][2]);
    y[2 * h + 1] = hn::Sub(hn::Sub(s[h][1], s[h][2]), s[h][3]);
  }
}

// Input and output of a tile.
struct TilePlace {
  const float* x;
  int64_t y;          // of its first output, in floats
  bool right, below;  // whether these outputs lie inside the result
};

TilePlace place_of(const WinogradJob& job, int64_t tile) {
  const int64_t per_sample = job.tiles_y * job.tiles_x;
  const int64_t n = tile / per_sample, p = tile % per_sample;
  const int64_t oy = p / job.tiles_x * 2, ox = p % job.tiles_x * 2;
  return {.x = job.x.data + n * job.x.sample_pitch + oy * job.x.row_pitch + ox * job.channels,
          .y = job.max_pool ? tile * job.outputs
                            : ((n * job.height + oy) * job.width + ox) * job.outputs,
          .right = ox + 1 < job.width,
          .below = oy + 1 < job.height};
}

// Adds bias, then pools, or stores the outputs inside the result.
HWY_INLINE void finish_tile(const WinogradJob& job, const TilePlace& place, int64_t f,
                            const float* m) {
  Vec y[4];
  tile_outputs(m, y);
  const int64_t left = job.outputs - f;
  if (job.bias)
    for (Vec& value : y) value = hn::Add(value, hn::LoadU(Floats(), job.bias + f));
  if (job.max_pool) {
    const int64_t to = place.y + f;
    pool_four(y[0], y[1], y[2], y[3], job.relu, job.y + to, job.winners + to, left);
    return;
  }
  if (job.relu)
    for (Vec& value : y) value = hn::Max(value, hn::Zero(Floats()));
  float* to = job.y + place.y + f;
  const int64_t row = job.width * job.outputs;
  store_part(y[0], to, left);
  if (place.right) store_part(y[1], to + job.outputs, left);
  if (place.below) store_part(y[2], to + row, left);
  if (place.right && place.below) store_part(y[3], to + row + job.outputs, left);
}

// Tiles [begin, end), counted across all samples. `memory`: V of most_winograd_rows tiles, then m.
void winograd_tiles(const WinogradJob& job, int64_t begin, int64_t end, float* memory) {
  const int64_t channels = job.channels, width = tile_columns();
  TilePlace places[most_winograd_rows];
  // Number of tiles whose V fits half of the second-level cache.
  const int64_t group =
      std::clamp<int64_t>(48 * 1024 / (tile_points * channels) / 6 * 6, 6, most_winograd_rows);
  float* m = memory + tile_points * most_winograd_rows * channels;
  for (int64_t first = begin; first < end; first += group) {
    const int64_t count = std::min(group, end - first);
    for (int64_t i = 0; i < count; ++i) {
      places[i] = place_of(job, first + i);
      transform_tile(places[i].x, job.x.row_pitch, channels, memory + i * channels,
                     group * channels);
    }
    for (int64_t f = 0; f < job.outputs; f += width) {
      const float* u = job.u + f * tile_points * channels;
      for (int64_t i = 0; i < count; i += tile_rows) {
        for (int64_t t = 0; t < tile_points; ++t)
          with_rows(count - i, PointTile{.v = memory + (t * group + i) * channels,
                                         .channels = channels,
                                         .u = u + t * channels * width,
                                         .m = m + t * tile_rows * width});
        for (int64_t c = 0; c < width && f + c < job.outputs; c += lanes())
          for (int64_t r = 0; r < std::min(tile_rows, count - i); ++r)
            finish_tile(job, places[i + r], f + c, m + r * width + c);
      }
    }
  }
}

int64_t winograd_panel() { return tile_columns(); }

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(transform_filters);
HWY_EXPORT(transform_turned_filters);
HWY_EXPORT(winograd_tiles);
HWY_EXPORT(winograd_panel);

namespace {

// Sizes of memory for forward and the input gradient.
struct WinogradPlan {
  static constexpr int64_t tile_points = 16;
  int64_t channels, outputs, tiles_y, tiles_x;
  int64_t width = HWY_DYNAMIC_DISPATCH(winograd_panel)();

  int64_t panels() const { return (outputs + width - 1) / width; }
  int64_t u_floats() const { return panels() * tile_points * channels * width; }
  int64_t member_floats() const {
    return tile_points * (most_winograd_rows * channels + 6 * width);
  }
  size_t bytes(int threads) const {
    return static_cast<size_t>(u_floats() + panels() * width + threads * member_floats()) *
           sizeof(float);
  }
};

class WinogradForward final : public ConvForward {
 public:
  WinogradForward(const ConvSpec& spec, ThreadPool& pool)
      : s_(spec),
        pool_(pool),
        plan_{.channels = spec.in.channels(),
              .outputs = spec.out.channels(),
              .tiles_y = spec.max_pool ? spec.out.height() / 2 : (spec.out.height() + 1) / 2,
              .tiles_x = spec.max_pool ? spec.out.width() / 2 : (spec.out.width() + 1) / 2} {}

  const char* name() const override { return "winograd"; }
  PaddedExtent extent() const override {
    return {std::max(window_extent(s_).rows, 2 * plan_.tiles_y + 2),
            std::max(window_extent(s_).columns, 2 * plan_.tiles_x + 2)};
  }
  size_t scratch_bytes() const override { return plan_.bytes(pool_.threads()); }

  void run(int64_t rows, const PaddedImages& x, const float* weights, const float* bias, float* y,
           uint8_t* winners, std::byte* scratch) override {
    float* u = reinterpret_cast<float*>(scratch);
    float* padded_bias = u + plan_.u_floats();
    float* own = padded_bias + plan_.panels() * plan_.width;
    std::fill(std::copy(bias, bias + plan_.outputs, padded_bias), own, 0.0f);
    pool_.split(plan_.panels(), 1, [&](int64_t begin, int64_t end, int member) {
      for (int64_t panel = begin; panel < end; ++panel) HWY_DYNAMIC_DISPATCH(transform_filters)
      (weights, plan_.outputs, plan_.channels, panel, u, own + member * plan_.member_floats());
    });
    const WinogradJob job{.x = x,
                          .channels = plan_.channels,
                          .outputs = plan_.outputs,
                          .tiles_y = plan_.tiles_y,
                          .tiles_x = plan_.tiles_x,
                          .height = s_.out.height(),
                          .width = s_.out.width(),
                          .u = u,
                          .bias = padded_bias,
                          .relu = s_.relu,
                          .max_pool = s_.max_pool,
                          .y = y,
                          .winners = winners};
    pool_.split(rows * plan_.tiles_y * plan_.tiles_x, 6,
                [&](int64_t begin, int64_t end, int member) {
                  HWY_DYNAMIC_DISPATCH(winograd_tiles)
                  (job, begin, end, own + member * plan_.member_floats());
                });
  }

 private:
  ConvSpec s_;
  ThreadPool& pool_;
  WinogradPlan plan_;
};

// dx is a convolution of dz, with a border of zeros, with the rotated filters.
class WinogradInputGradient final : public ConvInputGradient {
 public:
  WinogradInputGradient(const ConvSpec& spec, ThreadPool& pool)
      : s_(spec),
        pool_(pool),
        plan_{.channels = spec.out.channels(),
              .outputs = spec.in.channels(),
              .tiles_y = (spec.in.height() + 1) / 2,
              .tiles_x = (spec.in.width() + 1) / 2} {}

  const char* name() const override { return "winograd"; }
  size_t scratch_bytes() const override {
    return plan_.bytes(pool_.threads()) +
           static_cast<size_t>(pool_.threads() * field_floats()) * sizeof(float);
  }

  void run(int64_t rows, const float* dy, const uint8_t*, const float* weights, float* dx,
           std::byte* scratch) override {
    float* u = reinterpret_cast<float*>(scratch);
    float* own = u + plan_.u_floats() + plan_.panels() * plan_.width;
    float* fields = own + pool_.threads() * plan_.member_floats();
    pool_.split(plan_.panels(), 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t panel = begin; panel < end; ++panel)
        HWY_DYNAMIC_DISPATCH(transform_turned_filters)
      (weights, plan_.channels, plan_.outputs, panel, u);
    });
    const int64_t pitch = field_columns() * plan_.channels;
    pool_.split(rows, 1, [&](int64_t begin, int64_t end, int member) {
      float* field = fields + member * field_floats();
      std::fill(field, field + field_floats(), 0.0f);  // the border stays zero from here on
      for (int64_t n = begin; n < end; ++n) {
        for (int64_t oy = 0; oy < s_.out.height(); ++oy) {
          const int64_t width = s_.out.width() * plan_.channels;
          const float* from = dy + n * s_.out.elements() + oy * width;
          std::copy(
              from, from + width,
              field + (oy + 2 - s_.window.pad_y) * pitch + (2 - s_.window.pad_x) * plan_.channels);
        }
        const WinogradJob job{.x = {field, pitch, 0},
                              .channels = plan_.channels,
                              .outputs = plan_.outputs,
                              .tiles_y = plan_.tiles_y,
                              .tiles_x = plan_.tiles_x,
                              .height = s_.in.height(),
                              .width = s_.in.width(),
                              .u = u,
                              .bias = nullptr,
                              .relu = false,
                              .max_pool = false,
                              .y = dx + n * s_.in.elements(),
                              .winners = nullptr};
        HWY_DYNAMIC_DISPATCH(winograd_tiles)
        (job, 0, plan_.tiles_y * plan_.tiles_x, own + member * plan_.member_floats());
      }
    });
  }

 private:
  int64_t field_columns() const {
    return std::max(2 * plan_.tiles_x + 2, s_.out.width() + 2 - s_.window.pad_x);
  }
  int64_t field_floats() const {
    const int64_t rows = std::max(2 * plan_.tiles_y + 2, s_.out.height() + 2 - s_.window.pad_y);
    return rows * field_columns() * plan_.channels;
  }

  ConvSpec s_;
  ThreadPool& pool_;
  WinogradPlan plan_;
};

bool is_3x3(const ConvSpec& s) {
  const Window& w = s.window;
  return w.height == 3 && w.width == 3 && w.stride_y == 1 && w.stride_x == 1;
}

// Products in the transformed domain, plus the transforms of each channel and output.
double tiles_cost(double tiles, double channels, double outputs, double batch) {
  outputs = std::max(outputs, 16.0);  // a panel is computed whole
  return tiles * (32 * channels * outputs / 90 + 3.5 * channels + 2.5 * outputs) +
         8 * channels * outputs / batch;
}

double forward_cost(const ConvSpec& s) {
  if (!is_3x3(s) || s.in.channels() < 8) return -1;
  const int64_t up = s.max_pool ? 0 : 1;
  const int64_t tiles = (s.out.height() + up) / 2 * ((s.out.width() + up) / 2);
  return tiles_cost(double(tiles), double(s.in.channels()), double(s.out.channels()),
                    double(s.batch));
}

double input_gradient_cost(const ConvSpec& s) {
  if (!is_3x3(s) || s.max_pool || s.out.channels() < 8) return -1;
  const int64_t tiles = (s.in.height() + 1) / 2 * ((s.in.width() + 1) / 2);
  return tiles_cost(double(tiles), double(s.out.channels()), double(s.in.channels()),
                    double(s.batch));
}

}  // namespace

ConvCandidate<ConvForward> winograd_forward() {
  return {"winograd", forward_cost, [](const ConvSpec& s, ThreadPool& pool) {
            return std::unique_ptr<ConvForward>(std::make_unique<WinogradForward>(s, pool));
          }};
}

ConvCandidate<ConvInputGradient> winograd_input_gradient() {
  return {
      "winograd", input_gradient_cost, [](const ConvSpec& s, ThreadPool& pool) {
        return std::unique_ptr<ConvInputGradient>(std::make_unique<WinogradInputGradient>(s, pool));
      }};
}

}  // namespace lockstep
#endif
