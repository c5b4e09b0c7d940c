#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_text.h"

namespace lockstep {

// In which order a stage of a pipeline works on the micro-batches of a step. gpipe: all forward,
// then all backward. 1f1b: a backward pass as soon as one is possible, so that few micro-batches
// are in flight. interleaved: 1f1b in which each rank holds several parts of the network.
enum class Schedule { gpipe, one_f_one_b, interleaved };
template <>
inline constexpr auto enum_texts<Schedule> = std::array{"gpipe", "1f1b", "interleaved"};

struct PipelineShape {
  Schedule schedule = Schedule::one_f_one_b;
  int stages = 1;  // ranks
  int chunks = 1;  // parts of the network per rank; interleaved: 2 or more
  int64_t micro_batches = 1;

  int parts() const { return stages * chunks; }  // of the network
};

// One pass of one micro-batch through the part `chunk` of a rank, which is part
// chunk × stages + stage of the network.
struct Action {
  enum class Kind { forward, backward };
  Kind kind = Kind::forward;
  int chunk = 0;
  int64_t micro_batch = 0;

  bool operator==(const Action&) const = default;
};

// What a stage does in a step. Micro-batches of a chunk go forward and backward in ascending order,
// so that gradients are summed in the order of one rank.
std::vector<Action> actions_of(const PipelineShape& shape, int stage);

// Throws a UserError if the schedule cannot run with these numbers.
void check(const PipelineShape& shape);

// Share of a step's time that stages of equal speed wait at its begin and end.
double bubble_of(const PipelineShape& shape);

// Largest number of micro-batches of the chunk that have gone forward and not yet backward.
int64_t most_in_flight(const std::vector<Action>& actions, int chunk);
// Number of latest micro-batches that are still needed when the next one begins.
int64_t most_held(const std::vector<Action>& actions);

// Names the actions that wait for each other for ever; nullopt: none do.
std::optional<std::string> deadlock_of(const std::vector<std::vector<Action>>& by_stage);

// "F0 F1 B0 F2 B1": "F1.0" is micro-batch 0 in chunk 1.
std::string to_text(const std::vector<Action>& actions);

}  // namespace lockstep
