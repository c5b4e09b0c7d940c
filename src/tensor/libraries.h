#pragma once

#include <string>

namespace lockstep {

std::string tensor_libraries();  // those that compute, with their versions

}  // namespace lockstep
