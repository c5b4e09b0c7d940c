#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/enum_text.h"

namespace lockstep {

// A core as the kernel numbers it, and where it sits.
struct Core {
  int id = 0;
  int package = 0, core = 0;  // hardware threads of one core share both
};

std::vector<Core> allowed_cores();  // that this process may use, by number

// Cores as bits, for putting those of several ranks together.
using CoreMask = std::array<uint64_t, 16>;
CoreMask core_mask();  // that the calling thread may use

// What parallel.affinity asks for. A list is anything else than the other three.
enum class AffinityKind { none, compact, scatter, list };
template <>
inline constexpr auto enum_texts<AffinityKind> = std::array{"none", "compact", "scatter"};
AffinityKind affinity_kind(const std::string& affinity);

// The cores each of `ranks` ranks on this machine is bound to, `threads` each.
//   none     nothing is bound: empty lists
//   compact  one after the other
//   scatter  as far apart as possible: other packages and cores before other hardware threads
//   0,1,4    these, in turn
// A core that does not exist or is not allowed is a UserError.
std::vector<std::vector<int>> plan_affinity(const std::string& affinity, int ranks, int threads,
                                            const std::vector<Core>& cores);

// Binds the calling thread, and those it starts afterwards.
void bind_to(const std::vector<int>& cores);

// A small map: a row a rank, a column a core.
std::string affinity_map(const std::vector<std::vector<int>>& plan, const std::vector<Core>& cores);

}  // namespace lockstep
