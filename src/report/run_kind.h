#pragma once

namespace lockstep {

// How the values of a run were obtained, most reliable first. Oversubscribed: measured with more
// threads than cores.
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
