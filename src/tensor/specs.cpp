#include "tensor/specs.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {

int64_t Window::rows_for(int64_t out, int64_t in) const {
  return std::clamp<int64_t>((out - 1) * stride_y + height - pad_y, 1, in);
}

int64_t Window::columns_for(int64_t out, int64_t in) const {
  return std::clamp<int64_t>((out - 1) * stride_x + width - pad_x, 1, in);
}

Shape ConvSpec::result() const {
  if (!max_pool) return out;
  return {out.height() / 2, out.width() / 2, out.channels()};
}

double ConvSpec::flops() const { return 2.0 * static_cast<double>(out.elements() * taps()); }

int UpdateSpec::state_arrays() const {
  switch (kind) {
    case UpdateKind::sgd:
      return 0;
    case UpdateKind::momentum:
    case UpdateKind::nesterov:
    case UpdateKind::adagrad:
      return 1;
    case UpdateKind::adam:
    case UpdateKind::adamw:
      return 2;
  }
  return 0;
}

namespace {

std::string describe(const ConvSpec& s) {
  return fmt::format("conv {}x{} stride {}x{} {} -> {}{}{}{}, batch {}", s.window.height,
                     s.window.width, s.window.stride_y, s.window.stride_x, s.in.text(),
                     s.out.text(), s.relu ? " relu" : "", s.max_pool ? " maxpool" : "",
                     s.needs_dx ? "" : " first", s.batch);
}

std::string describe(const DenseSpec& s) {
  return fmt::format("dense {}{} -> {}{}{}{}{}{}, batch {}",
                     s.positions > 1 ? fmt::format("{} x ", s.positions) : "", s.in, s.out,
                     s.relu ? " relu" : "", s.sparse ? " sparse" : "",
                     s.transposed ? " transposed" : "", s.frozen ? " frozen" : "",
                     s.needs_dx ? "" : " first", s.batch);
}

std::string describe(const PoolSpec& s) {
  return fmt::format("{} {}x{} {} -> {}, batch {}", s.kind == PoolKind::max ? "maxpool" : "avgpool",
                     s.window.height, s.window.width, s.in.text(), s.out.text(), s.batch);
}

std::string describe(const ActivationSpec& s) {
  constexpr const char* names[] = {"relu", "sigmoid", "tanh", "gelu", "softmax"};
  return fmt::format("{} {}, batch {}", names[static_cast<size_t>(s.kind)], s.elements, s.batch);
}

std::string describe(const DropoutSpec& s) {
  return fmt::format("dropout {} {}, batch {}", s.rate, s.elements, s.batch);
}

std::string describe(const NormSpec& s) {
  return fmt::format("{} {}x{}{}, batch {}", s.kind == NormKind::batch ? "batchnorm" : "layernorm",
                     s.positions, s.channels, s.relu ? " relu" : "", s.batch);
}

std::string describe(const EmbeddingSpec& s) {
  return fmt::format("embedding {} x {} of {}, batch {}", s.positions, s.width, s.vocabulary,
                     s.batch);
}

std::string describe(const AttentionSpec& s) {
  return fmt::format("attention {} x {}, {} heads{}, batch {}", s.positions, s.width, s.heads,
                     s.dropout > 0 ? fmt::format(" dropout {}", s.dropout) : "", s.batch);
}

}  // namespace

std::string text(const KernelSpec& spec) {
  return std::visit([](const auto& one) { return describe(one); }, spec);
}

}  // namespace lockstep
