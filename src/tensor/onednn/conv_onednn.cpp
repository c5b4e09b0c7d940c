#include <algorithm>
#include <dnnl.hpp>
#include <map>
#include <vector>

#include "os/buffer.h"
#include "tensor/onednn/convolutions.h"

// oneDNN's convolutions, for any shape, in a separate library (convolutions.h). Each thread runs
// its own primitives on its samples, so that oneDNN's threads are never used; pooling and relu are
// done here.

extern "C" void omp_set_num_threads(int);

namespace lockstep {
namespace {

using dnnl::memory;
using Dims = memory::dims;

struct Engine {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

// Layouts of the caller's memory: padded images, dense outputs, weights as stored.
struct Descriptors {
  memory::desc x, y, weights;
  Dims strides, border_low, border_high;

  Descriptors(const ConvSpec& s, int64_t rows, const Shape& image, int64_t row_pitch,
              int64_t sample_pitch, bool padded) {
    const auto f32 = memory::data_type::f32;
    const int64_t channels = s.in.channels(), filters = s.out.channels();
    x = memory::desc({rows, channels, image.height(), image.width()}, f32,
                     Dims{sample_pitch, 1, row_pitch, channels});
    y = memory::desc({rows, filters, s.out.height(), s.out.width()}, f32, memory::format_tag::nhwc);
    weights = memory::desc({filters, channels, s.window.height, s.window.width}, f32,
                           memory::format_tag::ohwi);
    strides = {s.window.stride_y, s.window.stride_x};
    border_low = padded ? Dims{0, 0} : Dims{s.window.pad_y, s.window.pad_x};
    // The part of the image that a cut output does not read would be a negative border, which
    // oneDNN refuses; callers pass a smaller image instead.
    const PaddedExtent e = window_extent(s);
    border_high = {std::max<int64_t>(0, e.rows - image.height() - border_low[0]),
                   std::max<int64_t>(0, e.columns - image.width() - border_low[1])};
  }
};

// Runs a primitive; reorders arguments into the layouts it prefers, and results back.
class Call {
 public:
  Call(Engine& engine, const dnnl::primitive& primitive) : engine_(engine), primitive_(primitive) {}

  void read(int argument, const memory::desc& have, const void* data, const memory::desc& want) {
    memory user(have, engine_.engine, const_cast<void*>(data));
    if (have == want) {
      arguments_.insert({argument, user});
      return;
    }
    memory laid_out(want, engine_.engine);
    dnnl::reorder(user, laid_out).execute(engine_.stream, user, laid_out);
    arguments_.insert({argument, laid_out});
  }

  void write(int argument, const memory::desc& have, void* data, const memory::desc& want) {
    const memory user(have, engine_.engine, data);
    if (have == want) {
      arguments_.insert({argument, user});
      return;
    }
    const memory laid_out(want, engine_.engine);
    arguments_.insert({argument, laid_out});
    results_.emplace_back(laid_out, user);
  }

  void run() {
    primitive_.execute(engine_.stream, arguments_);
    for (auto& [from, to] : results_) dnnl::reorder(from, to).execute(engine_.stream, from, to);
    engine_.stream.wait();
  }

 private:
  Engine& engine_;
  const dnnl::primitive& primitive_;
  std::unordered_map<int, memory> arguments_;
  std::vector<std::pair<memory, memory>> results_;
};

memory::desc any(const memory::desc& desc) {
  return {desc.dims(), memory::data_type::f32, memory::format_tag::any};
}

dnnl::convolution_forward::primitive_desc forward_desc(const Engine& e, const Descriptors& d) {
  const memory::desc bias({d.y.dims()[1]}, memory::data_type::f32, memory::format_tag::a);
  return {{dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, any(d.x),
           any(d.weights), bias, any(d.y), d.strides, d.border_low, d.border_high},
          e.engine};
}

int64_t spread_floats(const ConvSpec& s) { return s.max_pool ? s.out.elements() : 0; }

class OneDnnForward final : public ConvForward {
 public:
  OneDnnForward(const ConvSpec& spec, ThreadPool& pool) : s_(spec), pool_(pool) {}
  const char* name() const override { return "onednn"; }
  PaddedExtent extent() const override { return window_extent(s_); }
  size_t scratch_bytes() const override {
    return static_cast<size_t>(s_.batch * spread_floats(s_)) * sizeof(float);
  }

  void run(int64_t rows, const PaddedImages& x, const float* weights, const float* bias, float* y,
           uint8_t* winners, std::byte* scratch) override {
    float* z = s_.max_pool ? reinterpret_cast<float*>(scratch) : y;
    const PaddedExtent e = window_extent(s_);
    pool_.split(rows, 1, [&](int64_t begin, int64_t end, int) {
      omp_set_num_threads(1);
      Engine engine;
      const Descriptors d(s_, end - begin, {e.rows, e.columns, s_.in.channels()}, x.row_pitch,
                          x.sample_pitch, true);
      const auto desc = forward_desc(engine, d);
      const dnnl::convolution_forward primitive(desc);
      Call call(engine, primitive);
      call.read(DNNL_ARG_SRC, d.x, x.data + begin * x.sample_pitch, desc.src_desc());
      call.read(DNNL_ARG_WEIGHTS, d.weights, weights, desc.weights_desc());
      call.read(DNNL_ARG_BIAS, desc.bias_desc(), bias, desc.bias_desc());
      call.write(DNNL_ARG_DST, d.y, z + begin * s_.out.elements(), desc.dst_desc());
      call.run();
      for (int64_t n = begin; n < end; ++n) finish(z, n, y, winners);
    });
  }

 private:
  void finish(float* z, int64_t n, float* y, uint8_t* winners) const {
    float* sample = z + n * s_.out.elements();
    if (!s_.max_pool) {
      if (s_.relu)
        for (int64_t i = 0; i < s_.out.elements(); ++i) sample[i] = std::max(sample[i], 0.0f);
      return;
    }
    const Shape pooled = s_.result();
    const int64_t filters = pooled.channels(), right = filters, down = s_.out.width() * filters;
    for (int64_t i = 0; i < pooled.elements(); ++i) {
      const int64_t p = i / filters;
      const float* four =
          sample + p / pooled.width() * 2 * down + p % pooled.width() * 2 * right + i % filters;
      const float values[4] = {four[0], four[right], four[down], four[down + right]};
      const float* best = std::max_element(values, values + 4);
      const bool dead = s_.relu && *best <= 0;
      y[n * pooled.elements() + i] = dead ? 0 : *best;
      winners[n * pooled.elements() + i] = dead ? dead_winner : static_cast<uint8_t>(best - values);
    }
  }

  ConvSpec s_;
  ThreadPool& pool_;
};

// The gradients of pooled outputs at the pixels of their winners, 0 elsewhere.
const float* spread(const ConvSpec& s, int64_t rows, const float* dy, const uint8_t* winners,
                    std::byte* scratch) {
  if (!s.max_pool) return dy;
  float* dz = reinterpret_cast<float*>(scratch);
  const Shape pooled = s.result();
  const int64_t filters = pooled.channels();
  std::fill(dz, dz + rows * s.out.elements(), 0.0f);
  for (int64_t i = 0; i < rows * pooled.elements(); ++i) {
    if (winners[i] >= dead_winner) continue;
    const int64_t n = i / pooled.elements(), p = i % pooled.elements() / filters;
    const int64_t y = p / pooled.width() * 2 + winner_row(winners[i]);
    const int64_t x = p % pooled.width() * 2 + winner_column(winners[i]);
    dz[((n * s.out.height() + y) * s.out.width() + x) * filters + i % filters] = dy[i];
  }
  return dz;
}

class OneDnnWeightGradient final : public ConvWeightGradient {
 public:
  OneDnnWeightGradient(const ConvSpec& spec, ThreadPool&) : s_(spec) {}
  const char* name() const override { return "onednn"; }
  PaddedExtent extent() const override { return window_extent(s_); }
  size_t scratch_bytes() const override {
    return static_cast<size_t>(s_.batch * spread_floats(s_) + s_.out.channels() * s_.taps()) *
           sizeof(float);
  }

  // A single thread: a sum over samples must not depend on the number of threads.
  void run(int64_t rows, const PaddedImages& x, const float* dy, const uint8_t* winners, float* dw,
           bool accumulate, std::byte* scratch) override {
    const float* dz = spread(s_, rows, dy, winners, scratch);
    const int64_t count = s_.out.channels() * s_.taps();
    float* fresh =
        accumulate ? reinterpret_cast<float*>(scratch) + s_.batch * spread_floats(s_) : dw;
    omp_set_num_threads(1);
    Engine engine;
    const PaddedExtent e = window_extent(s_);
    const Descriptors d(s_, rows, {e.rows, e.columns, s_.in.channels()}, x.row_pitch,
                        x.sample_pitch, true);
    const dnnl::convolution_backward_weights::primitive_desc desc(
        {dnnl::algorithm::convolution_direct, any(d.x), any(d.weights), any(d.y), d.strides,
         d.border_low, d.border_high},
        engine.engine, forward_desc(engine, d));
    const dnnl::convolution_backward_weights primitive(desc);
    Call call(engine, primitive);
    call.read(DNNL_ARG_SRC, d.x, x.data, desc.src_desc());
    call.read(DNNL_ARG_DIFF_DST, d.y, dz, desc.diff_dst_desc());
    call.write(DNNL_ARG_DIFF_WEIGHTS, d.weights, fresh, desc.diff_weights_desc());
    call.run();
    if (accumulate)
      for (int64_t i = 0; i < count; ++i) dw[i] += fresh[i];
  }

 private:
  ConvSpec s_;
};

class OneDnnInputGradient final : public ConvInputGradient {
 public:
  OneDnnInputGradient(const ConvSpec& spec, ThreadPool& pool) : s_(spec), pool_(pool) {}
  const char* name() const override { return "onednn"; }
  size_t scratch_bytes() const override {
    return static_cast<size_t>(s_.batch * (spread_floats(s_) + used().elements())) * sizeof(float);
  }

  void run(int64_t rows, const float* dy, const uint8_t* winners, const float* weights, float* dx,
           std::byte* scratch) override {
    const float* dz = spread(s_, rows, dy, winners, scratch);
    float* part = reinterpret_cast<float*>(scratch) + s_.batch * spread_floats(s_);
    const Shape image = used();
    pool_.split(rows, 1, [&](int64_t begin, int64_t end, int) {
      omp_set_num_threads(1);
      Engine engine;
      const Descriptors d(s_, end - begin, image, image.width() * image.channels(),
                          image.elements(), false);
      const dnnl::convolution_backward_data::primitive_desc desc(
          {dnnl::algorithm::convolution_direct, any(d.x), any(d.weights), any(d.y), d.strides,
           d.border_low, d.border_high},
          engine.engine, forward_desc(engine, d));
      const dnnl::convolution_backward_data primitive(desc);
      Call call(engine, primitive);
      call.read(DNNL_ARG_DIFF_DST, d.y, dz + begin * s_.out.elements(), desc.diff_dst_desc());
      call.read(DNNL_ARG_WEIGHTS, d.weights, weights, desc.weights_desc());
      call.write(DNNL_ARG_DIFF_SRC, d.x, part + begin * image.elements(), desc.diff_src_desc());
      call.run();
      for (int64_t n = begin; n < end; ++n) place(part + n * image.elements(), dx, n);
    });
  }

 private:
  // The part of the image that the outputs read.
  Shape used() const {
    return {s_.window.rows_for(s_.out.height(), s_.in.height()),
            s_.window.columns_for(s_.out.width(), s_.in.width()), s_.in.channels()};
  }

  void place(const float* part, float* dx, int64_t n) const {
    const Shape image = used();
    const int64_t channels = s_.in.channels();
    float* sample = dx + n * s_.in.elements();
    std::fill(sample, sample + s_.in.elements(), 0.0f);
    for (int64_t y = 0; y < image.height(); ++y)
      std::copy(part + y * image.width() * channels, part + (y + 1) * image.width() * channels,
                sample + y * s_.in.width() * channels);
  }

  ConvSpec s_;
  ThreadPool& pool_;
};

}  // namespace
}  // namespace lockstep

extern "C" const lockstep::OneDnnConvolutions lockstep_onednn_convolutions = {
    [](const lockstep::ConvSpec& s, lockstep::ThreadPool& pool) {
      return std::unique_ptr<lockstep::ConvForward>(
          std::make_unique<lockstep::OneDnnForward>(s, pool));
    },
    [](const lockstep::ConvSpec& s, lockstep::ThreadPool& pool) {
      return std::unique_ptr<lockstep::ConvWeightGradient>(
          std::make_unique<lockstep::OneDnnWeightGradient>(s, pool));
    },
    [](const lockstep::ConvSpec& s, lockstep::ThreadPool& pool) {
      return std::unique_ptr<lockstep::ConvInputGradient>(
          std::make_unique<lockstep::OneDnnInputGradient>(s, pool));
    }};
