#include "tensor/device/cpu/cpu_device.h"
#include "tensor/device/cpu/dense_sparse.h"
#include "tensor/device/cpu/gemm/gemm.h"
#include "tensor/device/cpu/vector_ops.h"

namespace lockstep {
namespace {

class CpuDense final : public Kernel {
 public:
  CpuDense(const DenseSpec& spec, ThreadPool& pool) : s_(spec), pool_(pool) {}
  const char* name() const override { return "gemm"; }
  KernelNeeds needs() const override { return {.scratch = gemm_scratch_bytes(pool_.threads())}; }

  void forward(const Pass& p) override {
    const int64_t rows = p.rows * s_.positions;
    run({.m = rows,
         .n = s_.out,
         .k = s_.in,
         .a = row_major(p.x, s_.in),
         .b = s_.transposed ? transposed(p.weights, s_.in) : row_major(p.weights, s_.out),
         .c = p.y,
         .c_stride = s_.out,
         .bias = s_.transposed ? nullptr : p.weights + bias_offset(),
         .relu = s_.relu},
        pool_, p.scratch);
  }

  void backward(const Pass& p) override {
    const int64_t rows = p.rows * s_.positions;
    if (s_.relu)
      pool_.split(rows * s_.out, 1024, [&](int64_t begin, int64_t end, int) {
        mask_where_dead(p.dy + begin, p.y + begin, end - begin);
      });
    if (!s_.frozen) weight_gradients(p, rows);
    if (!p.dx) return;
    run({.m = rows,  // dx = dy w^T
         .n = s_.in,
         .k = s_.out,
         .a = row_major(p.dy, s_.out),
         .b = s_.transposed ? row_major(p.weights, s_.in) : transposed(p.weights, s_.out),
         .c = p.dx,
         .c_stride = s_.in},
        pool_, p.scratch);
  }

 private:
  void weight_gradients(const Pass& p, int64_t rows) {
    if (!s_.transposed)
      column_sums(p.dy, rows, s_.out, p.gradients + bias_offset(), p.accumulate, pool_);
    Gemm dw{.m = s_.in,  // x^T dy, or its transpose
            .n = s_.out,
            .k = rows,
            .a = transposed(p.x, s_.in),
            .b = row_major(p.dy, s_.out),
            .c = p.gradients,
            .c_stride = s_.out,
            .accumulate = p.accumulate};
    if (s_.transposed) {
      dw.m = s_.out, dw.n = dw.c_stride = s_.in;
      dw.a = transposed(p.dy, s_.out), dw.b = row_major(p.x, s_.in);
    }
    run(dw, pool_, p.scratch);
  }

  int64_t bias_offset() const { return aligned_floats(s_.in * s_.out); }

  DenseSpec s_;
  ThreadPool& pool_;
};

}  // namespace

std::unique_ptr<Kernel> CpuDevice::make(const DenseSpec& spec) {
  if (spec.sparse) return make_sparse_dense(spec, pool_);
  return std::make_unique<CpuDense>(spec, pool_);
}

}  // namespace lockstep
