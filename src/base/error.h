#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace lockstep {

// A mistake of the user: a wrong key, file or value. The program ends with exit code 2.
class UserError : public std::runtime_error {
 public:
  template <typename... Args>
  explicit UserError(fmt::format_string<Args...> text, Args&&... args)
      : std::runtime_error(fmt::format(text, std::forward<Args>(args)...)) {}
};

// A failure that is not the user's mistake: a full disk, a lost peer. Exit code 1.
class Failure : public std::runtime_error {
 public:
  template <typename... Args>
  explicit Failure(fmt::format_string<Args...> text, Args&&... args)
      : std::runtime_error(fmt::format(text, std::forward<Args>(args)...)) {}
};

[[noreturn]] void report_bug(const char* condition, const char* file, int line);

}  // namespace lockstep

// A condition that only a bug of ours can violate; throws instead of computing wrong results.
#define ENSURE(condition) \
  ((condition) ? void(0) : ::lockstep::report_bug(#condition, __FILE__, __LINE__))
