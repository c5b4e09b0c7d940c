#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "os/files.h"

namespace lockstep {

// Digests (XXH3, 64 bits) of the files of a folder: against damage, not against malice. They are
// kept beside the files in digests.txt, a line per file as 'xxhsum -H3 --tag' prints it, and last
// one of the lines before.
struct Digests {
  std::string run;                        // identifier of the run that wrote the files
  std::map<std::string, uint64_t> files;  // by name
};

inline constexpr const char* digests_file = "digests.txt";

uint64_t digest_of(std::span<const uint8_t> content);
uint64_t digest_of_file(const fs::path& path);

std::string digests_text(const Digests& digests);
fs::path digests_path(const fs::path& folder);
// None where the folder has no digests.txt; a UserError where that file itself is damaged.
std::optional<Digests> read_digests(const fs::path& folder);

// Compares a file with the digest beside it. A UserError that names the file where they differ;
// false where there is no digest to compare with.
bool expect_undamaged(const fs::path& file);

// Names a run in all that it writes: 16 hexadecimal digits, different each time.
std::string new_run_identifier();

}  // namespace lockstep
