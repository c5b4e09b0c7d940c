#pragma once

#include <map>
#include <string>

#include "base/files.h"
#include "sim/costs.h"
#include "train/run_config.h"

namespace lockstep {

// What was measured of a machine: the currency of all predictions.
struct Profile {
  std::string machine;  // processor and cores
  int cores = 1;
  std::string version;   // of the program that measured
  std::string measured;  // when: "2026-11-16 04:12:17 UTC"
  // Between two ranks of the machine, by operation; and "work", of both at once.
  std::map<std::string, SizeTable> threads, mpi;
  std::map<std::string, NetworkCosts> networks;  // by network_key
};

// Of two measurements the quicker one, the less disturbed, for each key.
template <typename Costs>
void keep_quicker(std::map<std::string, Costs>& known, const std::map<std::string, Costs>& other) {
  for (const auto& [key, costs] : other) {
    const auto [mine, added] = known.try_emplace(key, costs);
    if (!added) mine->second.keep_quicker(costs);
  }
}

// The same of operations between ranks, unless one of the two was measured on disturbed cores.
void keep_quicker_tables(std::map<std::string, SizeTable>& known,
                         const std::map<std::string, SizeTable>& other);

// What the costs of a network depend on.
std::string network_key(const RunConfig& config, const Shape& input, int64_t rows);

std::string this_machine();  // "AMD EPYC 7763 64-Core Processor, 2 cores"
fs::path profile_path();     // of this machine, in the cache folder
std::string time_text();     // now

// Throws a UserError that says what to do about a file that is no profile, or of another version.
Profile read_profile(const fs::path& path);
void write_profile(const fs::path& path, const Profile& profile);

// Of another version of the program, or too long ago to be trusted.
bool is_stale(const std::string& measured, const std::string& version);

}  // namespace lockstep
