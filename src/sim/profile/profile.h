#pragma once

#include <map>
#include <string>

#include "config/run_config.h"
#include "os/files.h"
#include "sim/profile/costs.h"

namespace lockstep {

// Measurements of a machine: the basis of all predictions.
struct Profile {
  std::string machine;  // processor and cores
  int cores = 1;
  std::string version;   // of the program that measured it
  std::string measured;  // when: "2026-11-16 04:12:17 UTC"
  // Times of operations between two ranks of the machine, by operation.
  std::map<std::string, SizeTable> threads, mpi;
  Quietness threads_quietness, mpi_quietness;
  double arithmetic = 0;  // fastest Arithmetic seen by a DisturbanceWatch, seconds
  std::map<std::string, NetworkCosts> networks;  // by network_key
  int64_t new_measurements = 0;                  // since it was read; not saved
};

// Keeps the faster of two measurements per operation and size.
void keep_quicker_tables(std::map<std::string, SizeTable>& known,
                         const std::map<std::string, SizeTable>& other);

// Adds measured tables: prefers undisturbed measurements to disturbed ones, otherwise keeps the
// faster ones.
void keep_better_tables(std::map<std::string, SizeTable>& known, Quietness& known_quietness,
                        const std::map<std::string, SizeTable>& other, const Quietness& quietness);

// The same for the costs of a network.
void keep_better(std::map<std::string, NetworkCosts>& known, const std::string& key,
                 const NetworkCosts& costs);

// Identifies a network by everything its costs depend on.
std::string network_key(const RunConfig& config, const Shape& input, int64_t rows);

std::string this_machine();  // "AMD EPYC 7763 64-Core Processor, 2 cores"
fs::path profile_path();     // of this machine, in the cache folder
std::string time_text();     // now

// Throws a UserError with advice if the file is not a profile or has another version.
Profile read_profile(const fs::path& path);
void write_profile(const fs::path& path, const Profile& profile);

// Whether it was measured by another version of the program, or too long ago.
bool is_stale(const std::string& measured, const std::string& version);

}  // namespace lockstep
