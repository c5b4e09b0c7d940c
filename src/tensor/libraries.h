#pragma once

#include <string>

namespace lockstep {

std::string tensor_libraries();  // numerical libraries, with their versions

}  // namespace lockstep
