#pragma once

namespace lockstep {

// A pause in a polling loop: leaves the core to its other hardware thread, and the cache line to
// the thread that is about to write it.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace lockstep
