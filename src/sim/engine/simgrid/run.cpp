#include <mpi.h>

#include <map>
#include <simgrid/s4u.hpp>

#include "base/error.h"
#include "comm/backend/self.h"
#include "comm/backend/thread_group.h"
#include "sim/engine/engine.h"
#include "sim/engine/simgrid/platform.h"
#include "sim/engine/simgrid/smpi_communicator.h"
#include "sim/profile/local_costs.h"

namespace simgrid::smpi::colls {
void set_collectives();  // exported by SimGrid, but not declared in its headers
}

namespace lockstep {
namespace {

namespace s4u = simgrid::s4u;

// Threads of one process as SimGrid's actors: the same Meetings, in virtual time.
class SimulatedThreads final : public ThreadSimulation {
 public:
  explicit SimulatedThreads(const SimulatedJob& job) : job_(job) {}

  void add(SimulatedTime& time) { times_[s4u::this_actor::get_pid()] = &time; }

  double now() const override { return mine().seconds(); }
  void catch_up() override { mine().catch_up(); }
  void changed() override {
    std::vector<s4u::SemaphorePtr> woken;
    woken.swap(waiting_);
    for (const s4u::SemaphorePtr& one : woken) one->release();
  }
  void wait_for_change() override {
    const s4u::SemaphorePtr woken = s4u::Semaphore::create(0);
    waiting_.push_back(woken);
    woken->acquire();
  }
  bool spend(Collective operation, size_t bytes, size_t whole) override {
    const auto& tables = job_.profile.threads;
    const auto found = tables.find(
        to_text(operation == Collective::reduce_scatter ? Collective::reduce : operation));
    const auto part = static_cast<double>(bytes), all = static_cast<double>(whole);
    if (found != tables.end())
      mine().spend(found->second.at(all) * (bytes < whole ? part / all : 1));
    mine().catch_up();
    return job_.moves_data || bytes <= always_moved || operation == Collective::all_gather;
  }

 private:
  SimulatedTime& mine() const { return *times_.at(s4u::this_actor::get_pid()); }

  const SimulatedJob& job_;
  std::map<aid_t, SimulatedTime*> times_;
  std::vector<s4u::SemaphorePtr> waiting_;
};

void start_engine(s4u::Engine& engine) {
  // The cluster's bandwidths and latencies unchanged; network.efficiency covers acknowledgements.
  engine.set_config("network/model:CM02");
  engine.set_config("network/crosstraffic:0");
}

class Arguments {
 public:
  Arguments(std::initializer_list<const char*> words) {
    for (const char* word : words) texts_.emplace_back(word);
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
    count = static_cast<int>(texts_.size());
  }
  int count = 0;
  char** data() { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

void run(const SimulatedJob& job, const SimulatedMain& rank_main) {
  const std::string eager = std::to_string(eager_bytes);
  const std::string arriving = "--cfg=smpi/async-small-thresh:" + eager;
  const std::string leaving = "--cfg=smpi/send-is-detached-thresh:" + eager;
  Arguments words{"lockstep",
                  "--log=root.thresh:critical",
                  "--log=no_loc",
                  "--cfg=smpi/simulate-computation:no",
                  "--cfg=smpi/test:0",
                  "--cfg=smpi/wtime:0",
                  "--cfg=smpi/iprobe:0",
                  arriving.c_str(),
                  leaving.c_str(),
                  "--cfg=debug/verbose-exit:0"};
  s4u::Engine engine(&words.count, words.data());
  start_engine(engine);
  const bool threads = job.backend == Backend::threads, alone = job.nodes.size() == 1;
  const std::vector<s4u::Host*> hosts = make_platform(
      job.cluster, job.nodes.back() + 1, LocalCosts(job.profile.mpi).latency(), job.threads);
  const int ranks = static_cast<int>(job.nodes.size());
  if (!threads && !alone) {
    SMPI_app_instance_register("job", nullptr, ranks);
    SMPI_init();
    engine.set_config("smpi/privatization:no");
    // Only for collectives in use: selectors of some others crash in SimGrid 3.32.
    for (const char* collective : {"allgather", "allgatherv", "barrier"})
      engine.set_config(fmt::format("smpi/{}:{}", collective, job.collectives));
    simgrid::smpi::colls::set_collectives();
  }
  SimulatedThreads meeting_place(job);
  const auto group = std::make_shared<ThreadGroup>(
      ranks, 0, 0, std::make_shared<std::atomic<bool>>(false), &meeting_place);
  std::exception_ptr error;
  for (int r = 0; r < ranks; ++r) {
    const int node = job.nodes[static_cast<size_t>(r)];
    s4u::ActorPtr actor =
        s4u::Actor::init(fmt::format("rank{}", r), hosts[static_cast<size_t>(node)]);
    actor->set_property("instance_id", "job");
    actor->set_property("rank", std::to_string(r));
    actor->start([&, r, node] {
      SimulatedTime time(job.cluster.speed_of(node));
      try {
        std::unique_ptr<Communicator> self;
        if (alone) {
          self = make_self_communicator();
        } else if (threads) {
          meeting_place.add(time);
          self = make_thread_rank(group, r);
        } else {
          MPI_Init(nullptr, nullptr);
          self = make_smpi_communicator(job, time);
        }
        SimulatedRank rank{*self, time, node};
        rank_main(rank);
        time.catch_up();
        self.reset();
        if (!alone && !threads) MPI_Finalize();
      } catch (const simgrid::ForcefulKillException&) {
        throw;
      } catch (...) {
        if (!error) error = std::current_exception();
      }
      if (error) s4u::Actor::kill_all();
    });
  }
  engine.run();
  if (error) std::rethrow_exception(error);
  if (!threads && !alone) SMPI_finalize();
}

}  // namespace
}  // namespace lockstep

const lockstep::SimgridLibrary lockstep_simgrid_library = {.run = lockstep::run};
