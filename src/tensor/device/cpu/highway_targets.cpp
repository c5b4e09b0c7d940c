// The two functions of Highway's library that its headers call. Debian's shared library measures a
// timer while it is loaded, which takes 4 ms, longer than a small training run. So on x86 they are
// defined here, and only the headers are used (CMakeLists.txt); elsewhere the library is linked.
#if defined(__x86_64__)

#include <hwy/highway.h>
#define _Bool bool  // NOLINT: C's _Bool, which the next header uses
#include <sys/platform/x86.h>
#undef _Bool

namespace hwy {

// Uses the features that the C library detected at start: in a virtual machine each cpuid
// instruction takes microseconds.
int64_t SupportedTargets() {
  int64_t targets = HWY_STATIC_TARGET;  // available on every x86-64
  const auto has = [&](bool supported, int64_t target) {
    if (supported) targets |= target;
  };
  const bool ssse3 = CPU_FEATURE_ACTIVE(SSSE3);
  const bool sse4 = ssse3 && CPU_FEATURE_ACTIVE(SSE4_2) && CPU_FEATURE_ACTIVE(AES) &&
                    CPU_FEATURE_ACTIVE(PCLMULQDQ);
  const bool avx2 = sse4 && CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(FMA) &&
                    CPU_FEATURE_ACTIVE(BMI1) && CPU_FEATURE_ACTIVE(BMI2);
  const bool avx3 = avx2 && CPU_FEATURE_ACTIVE(AVX512F) && CPU_FEATURE_ACTIVE(AVX512CD) &&
                    CPU_FEATURE_ACTIVE(AVX512VL) && CPU_FEATURE_ACTIVE(AVX512DQ) &&
                    CPU_FEATURE_ACTIVE(AVX512BW);
  has(ssse3, HWY_SSSE3);
  has(sse4, HWY_SSE4);
  has(avx2, HWY_AVX2);
  has(avx3, HWY_AVX3);
  return targets;
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy

#endif
