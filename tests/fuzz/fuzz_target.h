#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "os/files.h"

namespace lockstep {

// A reader of untrusted files. A UserError or a Failure is a valid answer to any input; another
// exception, a crash, more than 10 s or more than 2 GB of memory is a finding.
struct FuzzTarget {
  std::string name;
  std::function<void(const std::string& input)> read;
  std::function<std::vector<std::string>()> seeds;  // inputs to begin with, a few KB each
};

const std::vector<FuzzTarget>& fuzz_targets();

// Reads the input; swallows UserError and Failure, so that only findings are thrown.
void run(const FuzzTarget& target, std::span<const uint8_t> input);

// One file each, listed in targets.cpp.
FuzzTarget checkpoint_target();
FuzzTarget cluster_target();
FuzzTarget config_target();
FuzzTarget csv_target();
FuzzTarget hugging_face_target();
FuzzTarget idx_target();
FuzzTarget image_target();
FuzzTarget layers_target();
FuzzTarget profile_target();
FuzzTarget run_record_target();
FuzzTarget safetensors_target();
FuzzTarget study_target();
FuzzTarget text_target();
FuzzTarget token_cache_target();
FuzzTarget tokenizer_target();

// For targets that read several files: the input is their contents with separator lines between.
std::vector<std::string> files_of(const std::string& input, size_t count);  // missing ones: empty
std::string joined(const std::vector<std::string>& contents);

// Splits a safetensors file into header and data, and joins them again with the right length before
// the header, however the header was changed.
std::vector<std::string> header_and_data(const std::string& safetensors);
std::string safetensors_of(const std::string& header, const std::string& data);

fs::path scratch_folder();  // of this process
// Writes a file there without waiting for the disk; an old one is replaced.
fs::path scratch_file(const std::string& name, const std::string& content);

std::string text_of(const std::vector<uint8_t>& bytes);
std::string repository_file(const std::string& path);
std::vector<std::string> repository_files(const std::string& folder);  // the .toml files there

// A property that must hold for any input.
inline void expect(bool holds, const char* property) {
  if (!holds) throw std::logic_error(property);
}

}  // namespace lockstep
