// One rank of a test job: mpiexec -n 3 comm_ranks <what>.
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "comm/backend/mpi.h"
#include "comm/conformance.h"

using namespace lockstep;

namespace {

void stop_rank_one(Communicator& ranks) {
  if (ranks.rank() == 1) ::raise(SIGSTOP);
  std::vector<float> data(100'000);
  ranks.all_reduce(data, data).wait();
}

}  // namespace

int main(int, char** argv) {
  try {
    if (std::strcmp(argv[1], "conform") == 0)
      run_mpi_rank(60, check_conformance);
    else if (std::strcmp(argv[1], "large") == 0)
      run_mpi_rank(60, check_large_messages);
    else
      run_mpi_rank(2, stop_rank_one);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
