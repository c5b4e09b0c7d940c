#include "sim/simgrid/smpi_communicator.h"

#include <mpi.h>

#include <bit>

#include "base/error.h"
#include "comm/algorithms/all_reduce.h"
#include "comm/backend/self.h"
#include "sim/local_costs.h"

namespace lockstep {
namespace {

constexpr int first_user_tag = 1024;

void check(int code, const char* what) {
  if (code != MPI_SUCCESS) throw CommunicationFailure("{} failed in the simulation", what);
}

// Where numbers do not matter, all messages come from and go to the same memory, which SMPI knows
// it need not copy.
class Nowhere {
 public:
  void* at_least(size_t bytes) {
    if (bytes > size_) {
      size_ = std::bit_ceil(bytes);
      memory_ = SMPI_SHARED_MALLOC(size_);
    }
    return memory_;
  }

 private:
  void* memory_ = nullptr;
  size_t size_ = 0;
};

// What all ranks of a job share.
struct Shared {
  explicit Shared(const SimulatedJob& given) : job(given), local(given.profile.mpi) {}
  const SimulatedJob& job;
  LocalCosts local;
  Nowhere nowhere;
};

struct Group {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 1;
  std::vector<int> nodes;  // of each rank
  // Of the world a duplicate: SMPI cannot look the world itself up for messages from anyone.
  Group(MPI_Comm given, const std::vector<int>& world_nodes) : comm(given) {
    if (given == MPI_COMM_WORLD) check(MPI_Comm_dup(given, &comm), "MPI_Comm_dup");
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int world = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    std::vector<int> ranks(static_cast<size_t>(size));
    check(MPI_Allgather(&world, 1, MPI_INT, ranks.data(), 1, MPI_INT, comm), "MPI_Allgather");
    for (const int r : ranks) nodes.push_back(world_nodes[static_cast<size_t>(r)]);
  }
  ~Group() { MPI_Comm_free(&comm); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int node_of(int r) const { return nodes[static_cast<size_t>(r)]; }
  bool local(int r) const { return node_of(r) == node_of(rank); }
};

// A message under way.
class MessageOperation final : public Operation {
 public:
  // What its end costs this rank, by whom it came from.
  using Cost = std::function<double(int from)>;
  MessageOperation(MPI_Request request, SimulatedTime& time, Cost cost, int* source = nullptr)
      : request_(request), time_(time), cost_(std::move(cost)), source_(source) {}

  bool advance() override {
    time_.catch_up();
    if (!done_) {
      // SimGrid 3.32 never forgets what MPI_Test ended and searches it at every event; yet its
      // MPI_Request_get_status says "done" of everything, and MPI_Testany forgets as little.
      int done = 0;
      MPI_Status status;
      check(MPI_Test(&request_, &done, &status), "MPI_Test");
      if (!done) return false;
      end(status);
    }
    return true;
  }
  bool block() override {
    time_.catch_up();
    if (!done_) {
      MPI_Status status;
      check(MPI_Wait(&request_, &status), "MPI_Wait");
      end(status);
    }
    return true;
  }
  bool met() const override { return false; }
  std::string missing() override { return "a rank of the simulation"; }
  double now() const override { return time_.seconds(); }

 private:
  void end(const MPI_Status& status) {
    done_ = true;
    if (source_) *source_ = status.MPI_SOURCE;
    if (cost_) time_.spend(cost_(status.MPI_SOURCE));
  }

  MPI_Request request_;
  SimulatedTime& time_;
  Cost cost_;
  int* source_;
  bool done_ = false;
};

class TaskOperation final : public Operation {
 public:
  TaskOperation(Task task, SimulatedTime& time, std::unique_ptr<float[]> scratch)
      : scratch_(std::move(scratch)), task_(std::move(task)), time_(time) {}
  bool advance() override { return task_.advance(); }
  bool block() override { return task_.block(); }
  bool met() const override { return task_.steps() > 0; }
  std::string missing() override { return "a rank of the simulation"; }
  double now() const override { return time_.seconds(); }

 private:
  std::unique_ptr<float[]> scratch_;
  Task task_;
  SimulatedTime& time_;
};

// Our MPI code on SimGrid's MPI: the same messages of the same algorithms. Collectives that a real
// run leaves to MPI are SMPI's, which chooses as Open MPI does; they block, since SMPI's
// non-blocking ones are naive.
class SmpiCommunicator final : public Communicator {
 public:
  SmpiCommunicator(MPI_Comm comm, std::shared_ptr<Shared> shared, SimulatedTime& time)
      : shared_(std::move(shared)),
        time_(time),
        group_(std::make_unique<Group>(comm, shared_->job.nodes)) {
    int beside = 0;
    for (int r = 0; r < size(); ++r) beside += group_->local(r) ? 1 : 0;
    local_levels_ = levels(beside);
  }

  int rank() const override { return group_->rank; }
  int size() const override { return group_->size; }

  Request all_reduce(std::span<const float> from, std::span<float> to) override {
    if (real(from.size_bytes()) && from.data() != to.data())
      std::copy(from.begin(), from.end(), to.begin());
    if (size() == 1) return {};
    return task(all_reduce_by_messages(*this, to, next_tag()), "all-reduce");
  }

  void add(std::span<float> into, std::span<const float> from) override {
    if (real(into.size_bytes())) Channel::add(into, from);
    time_.spend(local().add(static_cast<double>(into.size_bytes())));
  }

  Request reduce(std::span<const float> from, std::span<float> to, int root) override {
    std::unique_ptr<float[]> scratch;
    if (from.data() != to.data() && rank() != root) {
      scratch = std::make_unique_for_overwrite<float[]>(from.size());
      to = {scratch.get(), from.size()};
    }
    if (from.data() != to.data() && real(from.size_bytes()))
      std::copy(from.begin(), from.end(), to.begin());
    if (size() == 1) return {};
    return task(reduce_by_messages(*this, to, root, next_tag()), "reduce", std::move(scratch));
  }

  Request reduce_scatter(std::span<const float> from, std::span<float> to) override {
    std::vector<float> all(from.begin(), from.end());
    all_reduce(from, all).wait();
    const Part part = part_of(static_cast<int64_t>(from.size()), size(), rank());
    std::copy_n(all.begin() + part.begin, part.size(), to.begin());
    return {};
  }

  Request broadcast(Bytes data, int root) override {
    time_.catch_up();
    // SimGrid cuts a message into segments and looks through all of them whenever one arrives.
    constexpr size_t at_once = 4 << 20;
    for (size_t at = 0; at == 0 || at < data.size(); at += at_once) {
      const size_t count = std::min(at_once, data.size() - at);
      check(MPI_Bcast(real(data.size()) ? data.data() + at : nowhere(count),
                      static_cast<int>(count), MPI_BYTE, root, group_->comm),
            "MPI_Bcast");
    }
    time_.spend(local().call("broadcast"));
    const auto bytes = static_cast<double>(data.size());
    if (rank() != root) {
      time_.spend(local_levels_ * local().of("broadcast", bytes));
      if (!group_->local(root)) time_.spend(shared_->job.cluster.message_cpu * bytes);
    }
    return {};
  }

  Request gather(ConstBytes mine, Bytes all, std::span<const int64_t> counts, int root) override {
    time_.catch_up();
    const Layout layout(counts);
    const bool root_here = rank() == root, moves = real(layout.all);
    const void* out = moves ? static_cast<const void*>(mine.data()) : nowhere(mine.size());
    void* in = moves ? static_cast<void*>(all.data()) : nowhere(layout.all);
    const bool in_place =
        root_here && (!moves || mine.data() == all.data() + layout.offsets[as_index(root)]);
    check(MPI_Gatherv(in_place ? MPI_IN_PLACE : out, static_cast<int>(mine.size()), MPI_BYTE, in,
                      layout.counts.data(), layout.offsets.data(), MPI_BYTE, root, group_->comm),
          "MPI_Gatherv");
    time_.spend(local().call("gather"));
    if (root_here)
      for (int r = 0; r < size(); ++r)
        if (r != root) time_.spend(received_cost(r, counts[as_index(r)], "gather"));
    return {};
  }

  Request scatter(ConstBytes all, Bytes mine, std::span<const int64_t> counts, int root) override {
    time_.catch_up();
    const Layout layout(counts);
    const bool moves = real(layout.all);
    const bool in_place =
        rank() == root && (!moves || mine.data() == all.data() + layout.offsets[as_index(root)]);
    const void* out = moves ? static_cast<const void*>(all.data()) : nowhere(layout.all);
    void* in = moves ? static_cast<void*>(mine.data()) : nowhere(mine.size());
    check(MPI_Scatterv(out, layout.counts.data(), layout.offsets.data(), MPI_BYTE,
                       in_place ? MPI_IN_PLACE : in, static_cast<int>(mine.size()), MPI_BYTE, root,
                       group_->comm),
          "MPI_Scatterv");
    time_.spend(local().call("scatter"));
    if (rank() != root)
      time_.spend(received_cost(root, static_cast<int64_t>(mine.size()), "scatter"));
    return {};
  }

  // What is gathered everywhere is what ranks agree on: always moved.
  Request all_gather(ConstBytes mine, Bytes all, std::span<const int64_t> counts) override {
    time_.catch_up();
    const Layout layout(counts);
    const bool in_place =
        !mine.empty() && mine.data() == all.data() + layout.offsets[as_index(rank())];
    check(MPI_Allgatherv(in_place ? MPI_IN_PLACE : mine.data(), static_cast<int>(mine.size()),
                         MPI_BYTE, all.data(), layout.counts.data(), layout.offsets.data(),
                         MPI_BYTE, group_->comm),
          "MPI_Allgatherv");
    time_.spend(local().call("all-gather"));
    return {};
  }

  Request barrier() override {
    time_.catch_up();
    check(MPI_Barrier(group_->comm), "MPI_Barrier");
    time_.spend(local().call("barrier"));
    return {};
  }

  Request send(ConstBytes data, int to, int tag) override {
    time_.catch_up();
    MPI_Request request;
    check(MPI_Isend(real(data.size()) ? data.data() : nowhere(data.size()),
                    static_cast<int>(data.size()), MPI_BYTE, to, wire_tag(tag), group_->comm,
                    &request),
          "MPI_Isend");
    return message(request, {}, nullptr);
  }
  Request receive(Bytes data, int from, int tag) override {
    return receive_from(data, from, tag, nullptr);
  }
  Request receive_any(Bytes data, int tag, int& from) override {
    return receive_from(data, MPI_ANY_SOURCE, tag, &from);
  }

  void read_file(const std::string& path, int64_t from, Bytes into) override {
    read_file_part(path, from, into);
  }
  std::unique_ptr<Communicator> split(int color, int key) override {
    time_.catch_up();
    MPI_Comm part;
    check(MPI_Comm_split(group_->comm, color, key, &part), "MPI_Comm_split");
    int members = 0;
    MPI_Comm_size(part, &members);
    if (members > 1) return std::make_unique<SmpiCommunicator>(part, shared_, time_);
    MPI_Comm_free(&part);
    return make_self_communicator();  // SMPI's broadcast fails on a single rank
  }
  void abort(const std::string& reason, int) override { throw Failure("{}", reason); }
  std::string backend() const override { return "mpi (simulated by SimGrid)"; }
  std::string host() const override { return fmt::format("node{}", group_->node_of(rank())); }

 private:
  struct Layout {
    std::vector<int> counts, offsets;
    size_t all = 0;
    explicit Layout(std::span<const int64_t> bytes) {
      for (const int64_t count : bytes) {
        counts.push_back(static_cast<int>(count));
        offsets.push_back(static_cast<int>(all));
        all += static_cast<size_t>(count);
      }
    }
  };

  static size_t as_index(int r) { return static_cast<size_t>(r); }
  static int wire_tag(int tag) { return tag < 0 ? -tag : first_user_tag + tag; }
  static int levels(int count) { return std::bit_width(static_cast<unsigned>(count - 1)); }
  const LocalCosts& local() const { return shared_->local; }
  bool real(size_t bytes) const { return shared_->job.moves_data || bytes <= always_moved; }
  void* nowhere(size_t bytes) { return shared_->nowhere.at_least(bytes); }

  double received_cost(int from, int64_t bytes, const char* operation) const {
    const auto count = static_cast<double>(bytes);
    return group_->local(from) ? local().of(operation, count)
                               : shared_->job.cluster.message_cpu * count;
  }

  Request receive_from(Bytes data, int from, int tag, int* source) {
    time_.catch_up();
    MPI_Request request;
    check(MPI_Irecv(real(data.size()) ? data.data() : nowhere(data.size()),
                    static_cast<int>(data.size()), MPI_BYTE, from, wire_tag(tag), group_->comm,
                    &request),
          "MPI_Irecv");
    const auto bytes = static_cast<int64_t>(data.size());
    const char* operation = tag < 0 ? "exchange" : "receive";
    return message(
        request,
        [this, bytes, operation](int sender) { return received_cost(sender, bytes, operation); },
        source);
  }
  Request task(Task work, const char* name, std::unique_ptr<float[]> scratch = nullptr) {
    return {std::make_unique<TaskOperation>(std::move(work), time_, std::move(scratch)), name, 0};
  }
  // Negative tags are those of our own algorithms.
  int next_tag() {
    tasks_ = tasks_ % 1000 + 1;
    return -(tasks_ + 1);
  }
  Request message(MPI_Request request, MessageOperation::Cost cost, int* source) {
    return {std::make_unique<MessageOperation>(request, time_, std::move(cost), source), "message",
            0};
  }

  std::shared_ptr<Shared> shared_;
  SimulatedTime& time_;
  std::unique_ptr<Group> group_;
  int local_levels_ = 0;
  int tasks_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> make_smpi_communicator(const SimulatedJob& job, SimulatedTime& time) {
  // Ranks are contexts of one process and share what is the job's.
  static std::shared_ptr<Shared> shared;
  if (!shared || &shared->job != &job) shared = std::make_shared<Shared>(job);
  return std::make_unique<SmpiCommunicator>(MPI_COMM_WORLD, shared, time);
}

}  // namespace lockstep
