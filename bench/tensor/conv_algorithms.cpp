// Times every applicable convolution algorithm for a list of shapes, next to the cost that the
// device estimates. If the two columns are ordered differently, the estimate selects a slower
// algorithm.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "os/buffer.h"
#include "tensor/device/cpu/conv/conv.h"

namespace lockstep {
namespace {

constexpr int64_t batch = 32;

std::vector<float> random_values(int64_t count, uint64_t stream, double low) {
  Rng rng(1, Purpose::initial_weights, stream);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(low + (1 - low) * rng.uniform());
  return values;
}

double best_seconds(const std::function<void()>& work) {
  const WallClock clock;
  work();
  double best = 1e9;
  for (const double start = clock.seconds(); clock.seconds() - start < 0.03;) {
    const double began = clock.seconds();
    work();
    best = std::min(best, clock.seconds() - began);
  }
  return best;
}

ConvSpec spec(int64_t size, int64_t channels, int64_t filters, int64_t kernel, int64_t stride,
              int64_t pad, bool pool) {
  const Window w{kernel, kernel, stride, stride, pad, pad};
  return {.batch = batch,
          .in = {size, size, channels},
          .out = {w.rows_from(size), w.columns_from(size), filters},
          .window = w,
          .relu = true,
          .max_pool = pool};
}

void measure(const ConvSpec& s, ThreadPool& pool) {
  const int64_t weights = aligned_floats(s.out.channels() * s.taps()) + s.out.channels();
  const std::vector<float> x = random_values(batch * s.in.elements(), 1, 0);
  const std::vector<float> w = random_values(weights, 2, -1);
  const std::vector<float> dy = random_values(batch * s.result().elements(), 3, -1);
  std::vector<float> y(dy.size()), dx(x.size()), gradients(w.size());
  fmt::print("\n{} -> {} kernel {}x{} stride {} pad {}{}\n", s.in.text(), s.out.text(),
             s.window.height, s.window.width, s.window.stride_y, s.window.pad_y,
             s.max_pool ? " pooled" : "");
  const auto time = [&](const ConvChoice& choice, bool backward, bool wants_dx) {
    const auto kernel = make_conv(s, pool, choice);
    const Buffer stash(kernel->needs().stash), scratch(kernel->needs().scratch);
    std::vector<float> own = dy;
    Pass p;
    p.rows = batch;
    p.x = x.data();
    p.y = y.data();
    p.dy = own.data();
    p.dx = wants_dx ? dx.data() : nullptr;
    p.weights = w.data();
    p.gradients = gradients.data();
    p.stash = stash.data();
    p.scratch = scratch.data();
    kernel->forward(p);
    return best_seconds([&] { backward ? kernel->backward(p) : kernel->forward(p); });
  };
  const auto show = [&](const char* job, const char* name, double seconds, double estimate) {
    fmt::print("  {:<16} {:<14} {:>9.0f} ns  estimated {:>9.0f}\n", job, name,
               seconds / batch * 1e9, estimate);
  };
  for (const auto& c : conv_forward_candidates())
    if (c.cost(s) >= 0) show("forward", c.name, time({.forward = c.name}, false, false), c.cost(s));
  double best_weights = 1e9;
  for (const auto& c : conv_weight_gradient_candidates())
    if (c.cost(s) >= 0) {
      const double seconds = time({.weight_gradient = c.name}, true, false);
      best_weights = std::min(best_weights, seconds);
      show("weight gradient", c.name, seconds, c.cost(s));
    }
  const double without = time({}, true, false);
  for (const auto& c : conv_input_gradient_candidates())
    if (c.cost(s) >= 0)
      show("input gradient", c.name, time({.input_gradient = c.name}, true, true) - without,
           c.cost(s));
}

}  // namespace
}  // namespace lockstep

int main() {
  using namespace lockstep;
  ThreadPool pool(1);
  for (const bool pooled : {false, true}) {
    measure(spec(28, 1, 32, 3, 1, 0, pooled), pool);
    measure(spec(28, 1, 32, 5, 1, 2, pooled), pool);
    measure(spec(32, 3, 32, 3, 1, 1, pooled), pool);
    measure(spec(32, 3, 16, 5, 1, 2, pooled), pool);
    measure(spec(14, 8, 16, 3, 1, 1, pooled), pool);
    measure(spec(14, 16, 16, 3, 1, 1, pooled), pool);
    measure(spec(14, 32, 64, 3, 1, 1, pooled), pool);
    measure(spec(10, 32, 128, 3, 1, 0, pooled), pool);
    measure(spec(16, 32, 64, 5, 1, 2, pooled), pool);
    measure(spec(4, 128, 256, 3, 1, 0, pooled), pool);
    measure(spec(8, 128, 128, 3, 1, 1, pooled), pool);
    measure(spec(7, 256, 256, 3, 1, 1, pooled), pool);
    measure(spec(16, 64, 64, 1, 1, 0, pooled), pool);
  }
  measure(spec(64, 3, 32, 7, 2, 3, false), pool);
  measure(spec(32, 32, 64, 3, 2, 1, false), pool);
  measure(spec(16, 128, 128, 1, 2, 0, false), pool);
}
