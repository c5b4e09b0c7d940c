#pragma once

#include "os/files.h"

namespace lockstep {

// A cached FILE has its digest (XXH3) in FILE.xxh3, with its size, modification time and inode at
// the last check. It is read again only if one of these changed.
enum class Verified {
  intact,
  damaged,  // not the content whose digest was recorded
  unknown,  // no digest is recorded
};

Verified verify(const fs::path& path);

// Call only if the content is known to be correct.
void record_digest(const fs::path& path);

// Moves a file, whose content is known to be correct, into a folder of the same file system and
// records its digest there.
void install_verified(const fs::path& file, const fs::path& folder);

}  // namespace lockstep
