// The two functions of Highway's library that its headers call. Debian's shared library measures a
// timer while it is loaded, which takes 4 ms: longer than a whole small training. So on x86 they
// are here, and only the headers are used (CMakeLists.txt); elsewhere the library is linked.
#if defined(__x86_64__)

#include <hwy/highway.h>
#define _Bool bool  // which the next header takes from C
#include <sys/platform/x86.h>
#undef _Bool

namespace hwy {

// As the C library found out when it started: each question to the processor itself (cpuid) costs a
// virtual machine microseconds.
int64_t SupportedTargets() {
  int64_t targets = HWY_STATIC_TARGET;  // what every x86-64 has
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
