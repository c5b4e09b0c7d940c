#include "base/error.h"

namespace lockstep {

void report_bug(const char* condition, const char* file, int line) {
  throw std::logic_error(
      fmt::format("this is a bug in lockstep, please report it: '{}' does not hold at {}:{}",
                  condition, file, line));
}

}  // namespace lockstep
