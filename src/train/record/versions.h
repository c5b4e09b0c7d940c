#pragma once

#include <string>

namespace lockstep {

std::string versions_text();  // "lockstep 0.2.0, oneDNN 2.6.3, ..."

}  // namespace lockstep
