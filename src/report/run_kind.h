#pragma once

namespace lockstep {

// How the values of a run were obtained, most reliable first. Emulated: measured on hosts that are
// parts of one machine. Oversubscribed: measured with more threads than cores.
enum class RunKind { measured, emulated, oversubscribed, simulated };

constexpr const char* kind_name(RunKind kind) {
  switch (kind) {
    case RunKind::emulated:
      return "emulated hosts";
    case RunKind::oversubscribed:
      return "oversubscribed";
    case RunKind::simulated:
      return "simulated";
    default:
      return "measured";
  }
}

// Marked as measured under conditions that a real cluster does not have.
constexpr bool is_qualified(RunKind kind) {
  return kind == RunKind::emulated || kind == RunKind::oversubscribed;
}

}  // namespace lockstep
