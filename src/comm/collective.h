#pragma once

#include "base/enum_text.h"

namespace lockstep {

// What ranks do together, by the names that messages and profiles use.
enum class Collective {
  all_reduce,
  reduce,
  reduce_scatter,
  broadcast,
  gather,
  scatter,
  all_gather,
  barrier,
  receive  // of a message from one rank
};
template <>
inline constexpr auto enum_texts<Collective> =
    std::array{"all-reduce", "reduce",     "reduce-scatter", "broadcast", "gather",
               "scatter",    "all-gather", "barrier",        "receive"};

}  // namespace lockstep
