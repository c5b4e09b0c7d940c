// Simulated ranks exchange more than 2 GB, as real ones do.

#include <sys/mman.h>

#include "comm/conformance.h"
#include "os/apart.h"
#include "sim/engine/engine.h"
#include "sim/sim_testing.h"

namespace lockstep {
namespace {

Profile two_cores() {
  Profile profile;
  profile.cores = 2;
  profile.mpi = profile.threads = fixed_tables();
  return profile;
}

TEST(Simgrid, RanksExchangeMoreThanTwoGigabytes) {
  if (!large_messages_fit()) GTEST_SKIP() << "needs 6.5 GB of free memory";
  const Profile profile = two_cores();
  const Cluster cluster = test_cluster(2);
  const SimulatedJob job{
      .cluster = cluster, .profile = profile, .nodes = cluster.place(2, 1), .moves_data = true};
  run_apart([&] {
    run_on_simgrid(job, [](SimulatedRank& rank) { check_large_messages(rank.ranks); });
    return std::string();
  });
}

// Simulated seconds of rank 0; no data are moved.
double simulated(const std::function<void(Communicator&)>& exchange) {
  const Profile profile = two_cores();
  const Cluster cluster = test_cluster(4);
  const SimulatedJob job{.cluster = cluster, .profile = profile, .nodes = cluster.place(4, 1)};
  return std::stod(run_apart([&] {
    double seconds = 0;
    run_on_simgrid(job, [&](SimulatedRank& rank) {
      exchange(rank.ranks);
      if (rank.ranks.rank() == 0) seconds = rank.clock.seconds();
    });
    return std::to_string(seconds);
  }));
}

TEST(Simgrid, MoreThanTwoGigabytesTakeTheirTimeOnTheWire) {
  constexpr int64_t part = 1'200'000'000;
  const std::vector<int64_t> counts(4, part);
  // Addresses that exist and are never accessed.
  const auto unmap = [](void* memory) { ::munmap(memory, 4 * part); };
  const std::unique_ptr<void, decltype(unmap)> reserved(
      ::mmap(nullptr, 4 * part, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
      unmap);
  ASSERT_NE(reserved.get(), MAP_FAILED);
  std::byte* nothing = static_cast<std::byte*>(reserved.get());
  const Bytes mine(nothing, part), all(nothing, 4 * part);
  const double one = part / 125e6;  // at 1 Gbit/s
  EXPECT_NEAR(simulated([&](Communicator& r) { r.gather(mine, all, counts, 0).wait(); }), 3 * one,
              0.05 * one);
  EXPECT_NEAR(simulated([&](Communicator& r) { r.scatter(all, mine, counts, 0).wait(); }), 3 * one,
              0.05 * one);
  EXPECT_NEAR(simulated([&](Communicator& r) {
                if (r.rank() == 0) r.receive(Bytes(nothing, 3 * part), 1, 7).wait();
                if (r.rank() == 1) r.send(Bytes(nothing, 3 * part), 0, 7).wait();
              }),
              3 * one, 0.05 * one);
}

}  // namespace
}  // namespace lockstep
