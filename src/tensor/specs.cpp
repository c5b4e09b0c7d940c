#include "tensor/specs.h"

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
      return 1;
    case UpdateKind::adam:
    case UpdateKind::adamw:
      return 2;
  }
  return 0;
}

}  // namespace lockstep
