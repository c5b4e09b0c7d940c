#pragma once

#include <string>

namespace lockstep {

// Loads one of the program's own libraries, found beside the program, as built, or in lib/lockstep,
// as installed, and returns the address of a symbol in it.
void* load_symbol(const std::string& library, const std::string& symbol);

template <typename T>
const T* load_library(const std::string& library, const std::string& symbol) {
  return static_cast<const T*>(load_symbol(library, symbol));
}

}  // namespace lockstep
