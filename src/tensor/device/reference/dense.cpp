#include <algorithm>
#include <vector>

#include "tensor/device/reference/reference_device.h"
#include "tensor/touched_rows.h"

namespace lockstep {
namespace {

class ReferenceDense final : public Kernel {
 public:
  explicit ReferenceDense(const DenseSpec& spec) : s_(spec) {}
  const char* name() const override { return "reference"; }

  void forward(const Pass& pass) override {
    const std::vector<float> laid_out = dense_rows(pass);
    const Pass p = with_rows(pass, laid_out);
    for (int64_t n = 0; n < p.rows * s_.positions; ++n)
      for (int64_t o = 0; o < s_.out; ++o) {
        double sum = s_.transposed ? 0 : p.weights[aligned_floats(s_.in * s_.out) + o];
        for (int64_t i = 0; i < s_.in; ++i) sum += double(p.x[n * s_.in + i]) * p.weights[at(i, o)];
        p.y[n * s_.out + o] = float(s_.relu ? std::max(sum, 0.0) : sum);
      }
  }

  void backward(const Pass& pass) override {
    const std::vector<float> laid_out = dense_rows(pass);
    const Pass p = with_rows(pass, laid_out);
    const int64_t rows = p.rows * s_.positions;
    if (s_.sparse) p.touched->add_all();
    const auto dz = [&](int64_t n, int64_t o) {
      return s_.relu && p.y[n * s_.out + o] <= 0 ? 0.0 : double(p.dy[n * s_.out + o]);
    };
    const auto put = [&](int64_t index, double value) {
      p.gradients[index] = float((p.accumulate ? p.gradients[index] : 0) + value);
    };
    for (int64_t o = 0; !s_.frozen && o < s_.out; ++o) {
      double bias = 0;
      for (int64_t n = 0; n < rows; ++n) bias += dz(n, o);
      if (!s_.transposed) put(aligned_floats(s_.in * s_.out) + o, bias);
      for (int64_t i = 0; i < s_.in; ++i) {
        double sum = 0;
        for (int64_t n = 0; n < rows; ++n) sum += p.x[n * s_.in + i] * dz(n, o);
        put(at(i, o), sum);
      }
    }
    if (!p.dx) return;
    for (int64_t n = 0; n < rows; ++n)
      for (int64_t i = 0; i < s_.in; ++i) {
        double sum = 0;
        for (int64_t o = 0; o < s_.out; ++o) sum += dz(n, o) * p.weights[at(i, o)];
        p.dx[n * s_.in + i] = float(sum);
      }
  }

 private:
  int64_t at(int64_t i, int64_t o) const {  // index of a weight
    return s_.transposed ? o * s_.in + i : i * s_.out + o;
  }
  // Sparse rows expanded to dense ones.
  std::vector<float> dense_rows(const Pass& p) const {
    std::vector<float> x(s_.sparse ? static_cast<size_t>(p.rows * s_.in) : 0);
    for (int64_t n = 0; s_.sparse && n < p.rows; ++n)
      for (int64_t i = p.sparse.begins[size_t(n)]; i < p.sparse.begins[size_t(n) + 1]; ++i)
        x[size_t(n * s_.in + p.sparse.columns[size_t(i)])] += p.sparse.values[size_t(i)];
    return x;
  }
  Pass with_rows(Pass p, const std::vector<float>& x) const {
    if (s_.sparse) p.x = x.data();
    return p;
  }

  DenseSpec s_;
};

}  // namespace

std::unique_ptr<Kernel> ReferenceDevice::make(const DenseSpec& spec) {
  return std::make_unique<ReferenceDense>(spec);
}

}  // namespace lockstep
