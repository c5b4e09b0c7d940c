// Times all-reduces: our ranks, MPI_Allreduce, or both in turns.
//   all_reduce threads 2 [floats]                   ranks that are threads
//   mpiexec -n 2 all_reduce mpi [floats] [rounds]   ours
//   mpiexec -n 2 all_reduce native ...              MPI_Allreduce
//   mpiexec -n 2 all_reduce both ...                in turns
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>

#include "comm/backend/mpi.h"
#include "comm/backend/threads.h"

using namespace lockstep;

namespace {

struct Options {
  size_t floats = 690'590;
  int rounds = 200;
};

using Reduce = std::function<void(std::vector<float>&)>;

// All ranks take part in each round of each function; rank 0 prints its times.
void measure(int rank, const Options& options,
             const std::vector<std::pair<std::string, Reduce>>& ways,
             const std::function<void()>& meet) {
  std::vector<float> data(options.floats, 1.0f);
  std::vector<std::vector<double>> times(ways.size());
  for (int i = 0; i < options.rounds; ++i)
    for (size_t way = 0; way < ways.size(); ++way) {
      std::fill(data.begin(), data.end(), 1.0f);  // just written, as after a backward pass
      meet();
      const auto start = std::chrono::steady_clock::now();
      ways[way].second(data);
      times[way].push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  if (rank > 0) return;
  std::string text;
  for (size_t way = 0; way < ways.size(); ++way) {
    std::sort(times[way].begin(), times[way].end());
    text += fmt::format(
        "{}\"{}\": {{\"median_ms\": {:.4f}, \"best_ms\": {:.4f}, \"longest_ms\": {:.4f}}}",
        way ? ", " : "", ways[way].first, times[way][times[way].size() / 2] * 1e3,
        times[way].front() * 1e3, times[way].back() * 1e3);
  }
  fmt::print("{{{}}}\n", text);
}

Reduce ours(Communicator& ranks) {
  return [&ranks](std::vector<float>& data) { ranks.all_reduce(data, data).wait(); };
}

void native(std::vector<float>& data) {
  MPI_Allreduce(MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM,
                MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  Options options;
  const int first = what == "threads" ? 3 : 2;
  if (argc > first) options.floats = static_cast<size_t>(std::atoll(argv[first]));
  if (argc > first + 1) options.rounds = std::atoi(argv[first + 1]);
  if (what == "threads" && argc >= 3) {
    run_thread_ranks(std::atoi(argv[2]), 60, [&](Communicator& ranks) {
      measure(ranks.rank(), options, {{"ours", ours(ranks)}}, [&] { ranks.barrier().wait(); });
    });
  } else if (what == "mpi" || what == "native" || what == "both") {
    run_mpi_rank(600, [&](Communicator& ranks) {
      std::vector<std::pair<std::string, Reduce>> ways;
      if (what != "native") ways.emplace_back("ours", ours(ranks));
      if (what != "mpi") ways.emplace_back("MPI_Allreduce", native);
      measure(ranks.rank(), options, ways, [&] { ranks.barrier().wait(); });
    });
  } else {
    return 2;
  }
  return 0;
}
