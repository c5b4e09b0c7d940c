#pragma once

#include "os/files.h"

namespace lockstep {

// Files of the cache have a digest (XXH3) beside them, in FILE.xxh3, with the size, time and inode
// that the file had when it was last compared. Only a file that has changed since is read again.
enum class Verified {
  intact,
  damaged,  // not the content whose digest was recorded
  unknown,  // no digest is recorded
};

Verified verify(const fs::path& path);

// To be called when the content is known to be right.
void record_digest(const fs::path& path);

// Moves a file, whose content is known to be right, into a folder of the same file system and
// records its digest there.
void install_verified(const fs::path& file, const fs::path& folder);

}  // namespace lockstep
