#pragma once

#include <functional>
#include <string>

namespace lockstep {

// Runs `work` in a copy of this process and returns what it returned; a UserError or Failure that
// it throws is thrown here. For libraries that can be used once a process. No other threads may be
// running.
std::string run_apart(const std::function<std::string()>& work);

}  // namespace lockstep
