#pragma once

#include <string>

#include "data/fetch/folders.h"
#include "data/say.h"
#include "os/files.h"

namespace lockstep {

// Whether the files of a set (mnist, fashion-mnist, gpt2-bpe, tiny-shakespeare) are in the cache,
// by name and size.
bool is_cached(const std::string& name);
bool is_fetch_set(const std::string& name);

// The folder of a set: cached, or fetched now. A cached file that has changed since its SHA-256 was
// compared is compared again; a Failure says how to fetch a damaged one anew.
fs::path cached_or_fetched(const std::string& name, const Say& say);

// Makes sure that the files of a set are in cache_folder()/name, unpacked, with the right SHA-256,
// and returns that folder. They come from `from_folder` if it is given, else from the first of
// Debian's installed files, npm, apt-get and curl that works. Safe when several processes do it at
// once: each file appears whole or not at all.
fs::path fetch(const std::string& name, const fs::path& from_folder, const Say& say);

}  // namespace lockstep
