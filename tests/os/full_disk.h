#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

namespace lockstep {

// While it exists no file of this process can grow, as on a full disk; errors say "File too large".
class FullDisk {
 public:
  FullDisk() : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_limit_);
    const rlimit none{0, old_limit_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &old_limit_);
    std::signal(SIGXFSZ, old_handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit old_limit_{};
  void (*old_handler_)(int);
};

}  // namespace lockstep
