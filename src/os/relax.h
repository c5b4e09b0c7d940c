#pragma once

namespace lockstep {

// A moment of a core that waits: leaves more to the other thread of the core, and to the one that
// is about to write what is waited for.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace lockstep
