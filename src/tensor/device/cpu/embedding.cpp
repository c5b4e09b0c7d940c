#include <algorithm>

#include "tensor/device/cpu/cpu_device.h"
#include "tensor/device/cpu/vector_ops.h"

namespace lockstep {
namespace {

class CpuEmbedding final : public Kernel {
 public:
  CpuEmbedding(const EmbeddingSpec& spec, ThreadPool& pool) : s_(spec), pool_(pool) {}
  const char* name() const override { return "rows"; }

  void forward(const Pass& p) override {
    const float* places = p.weights + s_.places_offset() + p.past * s_.width;
    pool_.split(p.rows * s_.positions, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        float* y = p.y + i * s_.width;
        std::copy_n(p.weights + token(p, i) * s_.width, s_.width, y);
        add_to(y, places + i % s_.positions * s_.width, s_.width);
      }
    });
  }

  // Threads split the columns, because a token may occur several times.
  void backward(const Pass& p) override {
    float* places = p.gradients + s_.places_offset();
    pool_.split(s_.width, 16, [&](int64_t begin, int64_t end, int) {
      const int64_t columns = end - begin;
      const auto clear = [&](float* table, int64_t rows) {
        for (int64_t row = 0; row < rows; ++row)
          std::fill_n(table + row * s_.width + begin, columns, 0.0f);
      };
      if (!p.accumulate && !s_.tied) clear(p.gradients, s_.vocabulary);
      if (!p.accumulate) clear(places, s_.context);
      for (int64_t i = 0; i < p.rows * s_.positions; ++i) {
        const float* dy = p.dy + i * s_.width + begin;
        add_to(p.gradients + token(p, i) * s_.width + begin, dy, columns);
        add_to(places + i % s_.positions * s_.width + begin, dy, columns);
      }
    });
  }

 private:
  static int64_t token(const Pass& p, int64_t i) { return static_cast<int64_t>(p.x[i]); }

  EmbeddingSpec s_;
  ThreadPool& pool_;
};

}  // namespace

std::unique_ptr<Kernel> CpuDevice::make(const EmbeddingSpec& spec) {
  return std::make_unique<CpuEmbedding>(spec, pool_);
}

}  // namespace lockstep
