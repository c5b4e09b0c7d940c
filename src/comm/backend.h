#pragma once

#include "base/enum_text.h"

namespace lockstep {

// What ranks are: processes that MPI connects, or threads of one process.
enum class Backend { mpi, threads };
template <>
inline constexpr auto enum_texts<Backend> = std::array{"mpi", "threads"};

}  // namespace lockstep
