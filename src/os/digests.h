#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "os/files.h"

namespace lockstep {

// Digests (XXH3, 64 bits) of the files of a folder, against damage, not against malice. They are
// stored beside the files in digests.txt, one line per file as 'xxhsum -H3 --tag' prints it; the
// last line is the digest of the lines before it.
struct Digests {
  std::string run;                        // identifier of the run that wrote the files
  std::map<std::string, uint64_t> files;  // by name
};

inline constexpr const char* digests_file = "digests.txt";

uint64_t digest_of(std::span<const uint8_t> content);
uint64_t digest_of_file(const fs::path& path);

std::string digests_text(const Digests& digests);
fs::path digests_path(const fs::path& folder);
// Empty if the folder has no digests.txt. Throws a UserError if that file itself is damaged.
std::optional<Digests> read_digests(const fs::path& folder);

// Compares a file with the digest beside it. Throws a UserError that names the file if they differ;
// returns false if there is no digest.
bool expect_undamaged(const fs::path& file);

// A new identifier, which a run writes to all its files: 16 random hexadecimal digits.
std::string new_run_identifier();

}  // namespace lockstep
