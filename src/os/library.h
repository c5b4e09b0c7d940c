#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep {

// Candidate paths of one of our own libraries: beside the program (as built), in ../lib/lockstep
// relative to it (as installed), and in lib/lockstep of the install prefix.
std::vector<std::filesystem::path> library_places(const std::string& library);

// Loads one of the program's own libraries and returns the address of a symbol in it.
void* load_symbol(const std::string& library, const std::string& symbol);

template <typename T>
const T* load_library(const std::string& library, const std::string& symbol) {
  return static_cast<const T*>(load_symbol(library, symbol));
}

}  // namespace lockstep
