#pragma once

#include <optional>

#include "train/replica.h"

namespace lockstep {

// Arrays of values per weight (or per value of the state), in the order of the arena of a rank. The
// whole network's arena is that of a run on one rank, so that files do not depend on the mesh.
enum class ArenaKind { weights, state };

// Floats of the whole network's arena.
size_t whole_arena_floats(const Replica& replica, ArenaKind kind);

// Collects this rank's part of an array on rank 0, which gets the whole array; others get an empty
// one. The ranks of the first replica call it together.
std::vector<float> collect_arena(Replica& replica, std::span<const float> mine, ArenaKind kind);
// This rank's part of a whole array.
std::vector<float> part_of_arena(const Replica& replica, std::span<const float> whole,
                                 ArenaKind kind);

// The weights and state of the whole network, in host memory, on rank 0, where its stages are on
// several ranks; empty on other ranks, and where each rank holds all of them. The ranks of the
// first replica call it together.
std::optional<Parameters> collect_network(Replica& replica);

}  // namespace lockstep
