#pragma once

#include "base/enum_text.h"

namespace lockstep {

// How ranks run: as MPI processes or as threads of one process.
enum class Backend { mpi, threads };
template <>
inline constexpr auto enum_texts<Backend> = std::array{"mpi", "threads"};

}  // namespace lockstep
