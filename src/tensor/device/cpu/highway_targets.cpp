// The two functions of Highway's library that its headers call. Debian's shared library measures a
// timer while it is loaded, which takes 4 ms: longer than a whole small training. So on x86 they
// are here, and only the headers are used (CMakeLists.txt); elsewhere the library is linked.
#if defined(__x86_64__)

#include <hwy/highway.h>

namespace hwy {

int64_t SupportedTargets() {
  __builtin_cpu_init();
  int64_t targets = HWY_STATIC_TARGET;  // what every x86-64 has
  const auto has = [&](bool supported, int64_t target) {
    if (supported) targets |= target;
  };
  const bool ssse3 = __builtin_cpu_supports("ssse3");
  const bool sse4 = ssse3 && __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("aes") &&
                    __builtin_cpu_supports("pclmul");
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool avx3 = avx2 && __builtin_cpu_supports("avx512f") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
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
