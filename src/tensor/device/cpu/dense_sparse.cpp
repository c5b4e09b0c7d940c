#include "tensor/device/cpu/dense_sparse.h"

#include <algorithm>

#include "tensor/device/cpu/vector_ops.h"
#include "tensor/touched_rows.h"

namespace lockstep {
namespace {

// Dense weights for sparse inputs: each input value reads one row of weights, and adds to one row
// of gradients. For gradients threads split the outputs, so that their number does not change sums.
class CpuSparseDense final : public Kernel {
 public:
  CpuSparseDense(const DenseSpec& spec, ThreadPool& pool) : s_(spec), pool_(pool) {}
  const char* name() const override { return "sparse-rows"; }

  void forward(const Pass& p) override {
    const float* bias = p.weights + bias_offset();
    pool_.split(p.rows, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n) {
        float* y = p.y + n * s_.out;
        std::copy_n(bias, s_.out, y);
        for_each_value(p.sparse, n, [&](int32_t column, float value) {
          add_scaled(y, p.weights + column * s_.out, value, s_.out);
        });
        if (s_.relu)
          for (int64_t o = 0; o < s_.out; ++o) y[o] = std::max(y[o], 0.0f);
      }
    });
  }

  void backward(const Pass& p) override {
    if (s_.relu)
      pool_.split(p.rows * s_.out, 1024, [&](int64_t begin, int64_t end, int) {
        mask_where_dead(p.dy + begin, p.y + begin, end - begin);
      });
    column_sums(p.dy, p.rows, s_.out, p.gradients + bias_offset(), p.accumulate, pool_);
    if (!p.accumulate) {
      for (const int32_t row : p.touched->list())
        std::fill_n(p.gradients + row * p.touched->width(), p.touched->width(), 0.0f);
      p.touched->clear();
    }
    p.touched->add(p.sparse.columns.subspan(
        static_cast<size_t>(p.sparse.begins[0]),
        static_cast<size_t>(p.sparse.begins[static_cast<size_t>(p.rows)] - p.sparse.begins[0])));
    pool_.split(s_.out, 64, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = 0; n < p.rows; ++n)
        for_each_value(p.sparse, n, [&](int32_t column, float value) {
          add_scaled(p.gradients + column * s_.out + begin, p.dy + n * s_.out + begin, value,
                     end - begin);
        });
    });
  }

 private:
  template <typename Use>
  static void for_each_value(const SparseRows& rows, int64_t n, const Use& use) {
    for (auto i = static_cast<size_t>(rows.begins[static_cast<size_t>(n)]);
         i < static_cast<size_t>(rows.begins[static_cast<size_t>(n) + 1]); ++i)
      use(rows.columns[i], rows.values[i]);
  }
  int64_t bias_offset() const { return aligned_floats(s_.in * s_.out); }

  DenseSpec s_;
  ThreadPool& pool_;
};

}  // namespace

std::unique_ptr<Kernel> make_sparse_dense(const DenseSpec& spec, ThreadPool& pool) {
  return std::make_unique<CpuSparseDense>(spec, pool);
}

}  // namespace lockstep
