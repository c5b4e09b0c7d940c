#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/enum_text.h"

namespace lockstep {

// A core as the kernel numbers it, and its location.
struct Core {
  int id = 0;
  int package = 0, core = 0;  // hardware threads of one core share both
};

std::vector<Core> allowed_cores();  // cores the calling thread may use, by number

// Cores as bits, to combine those of several ranks.
using CoreMask = std::array<uint64_t, 16>;
CoreMask core_mask();  // cores the calling thread may use

// Values of parallel.affinity. Anything other than the first three is a list.
enum class AffinityKind { none, compact, scatter, list };
template <>
inline constexpr auto enum_texts<AffinityKind> = std::array{"none", "compact", "scatter"};
AffinityKind affinity_kind(const std::string& affinity);

// The cores each of `ranks` ranks on this machine is bound to, `threads` each.
//   none     nothing is bound: empty lists
//   compact  cores in order
//   scatter  as far apart as possible: other packages and cores before other hardware threads
//   0,1,4    these cores, in turn
// A core that does not exist or is not allowed is a UserError.
std::vector<std::vector<int>> plan_affinity(const std::string& affinity, int ranks, int threads,
                                            const std::vector<Core>& cores);

// Binds the calling thread, and those it starts afterwards.
void bind_to(const std::vector<int>& cores);

// A text map with one row per rank and one column per core.
std::string affinity_map(const std::vector<std::vector<int>>& plan, const std::vector<Core>& cores);

}  // namespace lockstep
