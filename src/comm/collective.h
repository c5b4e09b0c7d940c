#pragma once

#include "base/enum_text.h"

namespace lockstep {

// Operations between ranks. Error messages and profiles use their texts.
enum class Collective {
  all_reduce,
  reduce,
  reduce_scatter,
  broadcast,
  gather,
  scatter,
  all_gather,
  barrier,
  receive  // point to point
};
template <>
inline constexpr auto enum_texts<Collective> =
    std::array{"all-reduce", "reduce",     "reduce-scatter", "broadcast", "gather",
               "scatter",    "all-gather", "barrier",        "receive"};

}  // namespace lockstep
