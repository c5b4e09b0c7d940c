#pragma once

#include <functional>
#include <string>

namespace lockstep {

// Runs `work` in a forked copy of this process and returns its result. A UserError that it throws
// is thrown here; any other exception becomes a Failure. For libraries that can be used only once
// per process. No other threads may be running.
std::string run_apart(const std::function<std::string()>& work);

}  // namespace lockstep
