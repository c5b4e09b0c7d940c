// Times an all-reduce of 690,590 floats: our ranks against MPI_Allreduce.
//   all_reduce threads 2        mpiexec -n 2 all_reduce mpi        mpiexec -n 2 all_reduce native
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

#include "comm/backend/mpi.h"
#include "comm/backend/threads.h"

using namespace lockstep;

namespace {

constexpr size_t floats = 690'590;
constexpr int rounds = 200;

template <typename Reduce>
void measure(int rank, const Reduce& reduce) {
  std::vector<float> data(floats, 1.0f);
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    std::fill(data.begin(), data.end(), 1.0f);  // just written, as after a backward pass
    const auto start = std::chrono::steady_clock::now();
    reduce(data);
    times.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  if (rank == 0)
    fmt::print("{{\"median_ms\": {:.4f}, \"best_ms\": {:.4f}}}\n", times[times.size() / 2] * 1e3,
               times[0] * 1e3);
}

void ours(Communicator& ranks) {
  measure(ranks.rank(), [&](std::vector<float>& data) { ranks.all_reduce(data, data).wait(); });
}

void native() {
  MPI_Init(nullptr, nullptr);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  measure(rank, [](std::vector<float>& data) {
    MPI_Allreduce(MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  });
  MPI_Finalize();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "threads" && argc == 3)
    run_thread_ranks(std::atoi(argv[2]), 60, ours);
  else if (what == "mpi")
    run_mpi_rank(60, ours);
  else if (what == "native")
    native();
  else
    return 2;
  return 0;
}
