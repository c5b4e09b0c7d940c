#pragma once

namespace lockstep {

// What the figures of a run are worth. Oversubscribed: measured with more threads than cores.
enum class RunKind { measured, oversubscribed, simulated };

constexpr const char* kind_name(RunKind kind) {
  switch (kind) {
    case RunKind::oversubscribed:
      return "oversubscribed";
    case RunKind::simulated:
      return "simulated";
    default:
      return "measured";
  }
}

}  // namespace lockstep
