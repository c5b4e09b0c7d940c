#pragma once

namespace lockstep {

// Replaces the congestion control of this process's TCP connections where it is BBR.
//
// Ranks exchange data in both directions at once. Acknowledgements then wait behind the data that
// flow the same way. BBR takes the delay for a slow link and sends less: all-reduces between 4 and
// 8 hosts took up to twice as long as their links allow, with Open MPI's MPI_Allreduce too. CUBIC,
// the default of Linux, and Reno, which every user may select, reach 98% of the links.
void avoid_bbr();

}  // namespace lockstep
