#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/device/reference/reference_device.h"
#include "tensor/dropout_mask.h"

namespace lockstep {
namespace {

class ReferenceEmbedding final : public Kernel {
 public:
  explicit ReferenceEmbedding(const EmbeddingSpec& spec) : s_(spec) {}
  const char* name() const override { return "reference"; }

  void forward(const Pass& p) override {
    for_each(p, [&](int64_t y, int64_t token, int64_t place) {
      p.y[y] = p.weights[token] + p.weights[place];
    });
  }

  void backward(const Pass& p) override {
    if (!p.accumulate) {
      const int64_t begin = s_.tied ? s_.places_offset() : 0;
      std::fill(p.gradients + begin, p.gradients + s_.places_offset() + s_.context * s_.width,
                0.0f);
    }
    for_each(p, [&](int64_t y, int64_t token, int64_t place) {
      p.gradients[token] += p.dy[y];
      p.gradients[place] += p.dy[y];
    });
  }

 private:
  // use(index of an output, of its token weight, of its place weight)
  template <typename Use>
  void for_each(const Pass& p, Use use) const {
    for (int64_t i = 0; i < p.rows * s_.positions; ++i)
      for (int64_t c = 0; c < s_.width; ++c)
        use(i * s_.width + c, static_cast<int64_t>(p.x[i]) * s_.width + c,
            s_.places_offset() + (p.past + i % s_.positions) * s_.width + c);
  }

  EmbeddingSpec s_;
};

class ReferenceAttention final : public Kernel {
 public:
  explicit ReferenceAttention(const AttentionSpec& spec) : s_(spec) {}
  const char* name() const override { return "reference"; }
  KernelNeeds needs() const override {
    return {.memory = static_cast<size_t>(2 * s_.context * s_.width) * sizeof(float)};
  }

  void forward(const Pass& p) override {
    if (p.memory) remember(p);
    for_each_query(p, [&](const Query& q) {
      const std::vector<double> shares = softmax(q);
      for (int64_t c = 0; c < s_.head_width(); ++c) {
        double sum = 0;
        for (int64_t j = 0; j < q.keys; ++j)
          sum += shares[size_t(j)] * kept(p, q, j) * double(q.v[j * q.stride + c]);
        p.y[q.y + c] = float(sum);
      }
    });
  }

  void backward(const Pass& p) override {
    if (!p.dx) return;
    std::vector<double> dx(size_t(p.rows * s_.positions * 3 * s_.width));
    const double scale = 1 / std::sqrt(double(s_.head_width()));
    for_each_query(p, [&](const Query& q) {
      const std::vector<double> shares = softmax(q);
      std::vector<double> d(size_t(q.keys), 0);
      double mean = 0;
      const int64_t k = q.k - p.x, v = q.v - p.x, own = q.q - p.x;
      for (int64_t j = 0; j < q.keys; ++j) {
        const double factor = kept(p, q, j);
        for (int64_t c = 0; c < s_.head_width(); ++c) {
          const double dy = p.dy[q.y + c];
          d[size_t(j)] += dy * q.v[j * q.stride + c] * factor;
          dx[size_t(v + j * q.stride + c)] += dy * shares[size_t(j)] * factor;
        }
        mean += d[size_t(j)] * shares[size_t(j)];
      }
      for (int64_t j = 0; j < q.keys; ++j) {
        const double ds = shares[size_t(j)] * (d[size_t(j)] - mean) * scale;
        for (int64_t c = 0; c < s_.head_width(); ++c) {
          dx[size_t(own + c)] += ds * q.k[j * q.stride + c];
          dx[size_t(k + j * q.stride + c)] += ds * q.q[c];
        }
      }
    });
    std::copy(dx.begin(), dx.end(), p.dx);
  }

 private:
  // One query of one head of one sample, and the keys and values it attends to.
  struct Query {
    int64_t sample, head, position, keys;
    const float *q, *k, *v;
    int64_t stride;
    int64_t y;
  };

  template <typename Use>
  void for_each_query(const Pass& p, Use use) const {
    const int64_t stride = 3 * s_.width;
    for (int64_t n = 0; n < p.rows; ++n)
      for (int64_t h = 0; h < s_.heads; ++h)
        for (int64_t t = 0; t < s_.positions; ++t) {
          const int64_t offset = h * s_.head_width();
          const float* x = p.x + n * s_.positions * stride + offset;
          Query q{n,
                  h,
                  t,
                  p.past + t + 1,
                  x + t * stride,
                  x + s_.width,
                  x + 2 * s_.width,
                  stride,
                  (n * s_.positions + t) * s_.width + offset};
          if (p.memory) {
            q.k = reinterpret_cast<const float*>(p.memory) + offset;
            q.v = q.k + s_.context * s_.width;
            q.stride = s_.width;
          }
          use(q);
        }
  }

  std::vector<double> softmax(const Query& q) const {
    std::vector<double> shares;
    double largest = -1e300, sum = 0;
    for (int64_t j = 0; j < q.keys; ++j) {
      double score = 0;
      for (int64_t c = 0; c < s_.head_width(); ++c) score += double(q.q[c]) * q.k[j * q.stride + c];
      shares.push_back(score / std::sqrt(double(s_.head_width())));
      largest = std::max(largest, shares.back());
    }
    for (double& share : shares) sum += share = std::exp(share - largest);
    for (double& share : shares) share /= sum;
    return shares;
  }

  double kept(const Pass& p, const Query& q, int64_t j) const {
    if (!p.training || s_.dropout == 0) return 1;
    const DropoutSpec spec{.batch = s_.batch, .rate = s_.dropout, .layer = s_.layer};
    const DropoutMask mask(spec, p.keys, q.sample);
    const int64_t unit = (q.head * s_.positions + q.position) * s_.positions + j;
    return mask.keeps(unit) ? mask.scale() : 0;
  }

  void remember(const Pass& p) const {
    float* keys = reinterpret_cast<float*>(p.memory) + p.past * s_.width;
    float* values = keys + s_.context * s_.width;
    for (int64_t t = 0; t < s_.positions; ++t)
      for (int64_t c = 0; c < s_.width; ++c) {
        keys[t * s_.width + c] = p.x[t * 3 * s_.width + s_.width + c];
        values[t * s_.width + c] = p.x[t * 3 * s_.width + 2 * s_.width + c];
      }
  }

  AttentionSpec s_;
};

}  // namespace

std::unique_ptr<Kernel> ReferenceDevice::make(const EmbeddingSpec& spec) {
  return std::make_unique<ReferenceEmbedding>(spec);
}

std::unique_ptr<Kernel> ReferenceDevice::make(const AttentionSpec& spec) {
  return std::make_unique<ReferenceAttention>(spec);
}

}  // namespace lockstep
