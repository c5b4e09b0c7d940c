#include "sim/engine/simgrid/smpi_communicator.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <numeric>

#include "base/error.h"
#include "comm/algorithms/gather.h"
#include "comm/backend/self.h"
#include "comm/message_communicator.h"
#include "sim/engine/simgrid/post_office.h"
#include "sim/profile/local_costs.h"

namespace lockstep {
namespace {

void check(int code, const char* what) {
  if (code != MPI_SUCCESS) throw CommunicationFailure("{} failed in the simulation", what);
}

// Without numerics all messages share one dummy buffer, which SMPI does not copy.
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

// State shared by all ranks of a job.
struct Shared {
  explicit Shared(const SimulatedJob& given)
      : job(given), local(given.profile.mpi), post(static_cast<int>(given.nodes.size())) {}
  const SimulatedJob& job;
  LocalCosts local;
  Nowhere nowhere;
  PostOffice post;
  int groups = 0;
};

struct Group {
  MPI_Comm comm = MPI_COMM_NULL;
  int id = 0, rank = 0, size = 1;
  std::vector<int> world;  // world rank of each rank
  std::vector<int> nodes;  // node of each rank
  // Duplicates the world: SMPI cannot look up MPI_COMM_WORLD itself for messages from any rank.
  Group(MPI_Comm given, Shared& shared) : comm(given) {
    if (given == MPI_COMM_WORLD) check(MPI_Comm_dup(given, &comm), "MPI_Comm_dup");
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    struct Member {
      int group, world;
    } self{.group = shared.groups++, .world = 0};
    MPI_Comm_rank(MPI_COMM_WORLD, &self.world);
    std::vector<Member> members(static_cast<size_t>(size));
    check(MPI_Allgather(&self, sizeof self, MPI_BYTE, members.data(), sizeof self, MPI_BYTE, comm),
          "MPI_Allgather");
    id = members.front().group;
    for (const Member& member : members) {
      world.push_back(member.world);
      nodes.push_back(shared.job.nodes[static_cast<size_t>(member.world)]);
    }
  }
  ~Group() { MPI_Comm_free(&comm); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int world_of(int r) const { return world[static_cast<size_t>(r)]; }
  int node_of(int r) const { return nodes[static_cast<size_t>(r)]; }
  bool local(int r) const { return node_of(r) == node_of(rank); }
};

// A message in flight.
class Message : public Operation {
 public:
  // Seconds that completing it costs this rank, by sender.
  using Cost = std::function<double(int from)>;
  Message(SimulatedTime& time, Cost cost) : time_(time), cost_(std::move(cost)) {}

  bool advance() override {
    time_.catch_up();
    return done_ || (over() && block());
  }
  bool block() override {
    time_.catch_up();
    if (!done_) {
      const int from = wait();
      done_ = true;
      if (cost_) time_.spend(cost_(from));
    }
    return true;
  }
  bool met() const override { return false; }
  std::string missing() override { return "a rank of the simulation"; }
  double now() const override { return time_.seconds(); }

 protected:
  virtual bool over() const = 0;
  virtual int wait() = 0;  // returns the sender

 private:
  SimulatedTime& time_;
  Cost cost_;
  bool done_ = false;
};

// As in the MPI backend: MPI counts in int, so larger messages are sent in parts.
constexpr size_t largest_part = size_t{1} << 30;

// Message of a strategy, sent by MPI. Strategies always wait for them, so over() is not needed.
class SentMessage final : public Message {
 public:
  // Without data to move, all parts are at `data`.
  SentMessage(const Group& group, const void* data, size_t bytes, bool moves, int to, int tag,
              SimulatedTime& time)
      : Message(time, Cost{}) {
    for (size_t at = 0; at == 0 || at < bytes; at += largest_part) {
      const auto count = static_cast<int>(std::min(largest_part, bytes - at));
      requests_.emplace_back();
      check(MPI_Isend(static_cast<const std::byte*>(data) + (moves ? at : 0), count, MPI_BYTE, to,
                      tag, group.comm, &requests_.back()),
            "MPI_Isend");
    }
  }

 private:
  bool over() const override { return false; }  // known only after wait()
  int wait() override {
    check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
          "MPI_Waitall");
    return MPI_PROC_NULL;
  }

  std::vector<MPI_Request> requests_;
};

class ReceivedMessage final : public Message {
 public:
  ReceivedMessage(const Group& group, void* data, size_t bytes, bool moves, int from, int tag,
                  SimulatedTime& time, Cost cost, int* source)
      : Message(time, std::move(cost)),
        group_(group),
        data_(data),
        bytes_(bytes),
        moves_(moves),
        tag_(tag),
        source_(source) {
    receive_part(from);
  }

 private:
  bool over() const override { return false; }
  int wait() override {
    for (;;) {
      MPI_Status status;
      check(MPI_Wait(&request_, &status), "MPI_Wait");
      if (source_) *source_ = status.MPI_SOURCE;
      if (at_ >= bytes_) return status.MPI_SOURCE;
      receive_part(status.MPI_SOURCE);
    }
  }
  void receive_part(int from) {
    const size_t count = std::min(largest_part, bytes_ - at_);
    check(MPI_Irecv(static_cast<std::byte*>(data_) + (moves_ ? at_ : 0), static_cast<int>(count),
                    MPI_BYTE, from, tag_, group_.comm, &request_),
          "MPI_Irecv");
    at_ += count;
  }

  const Group& group_;
  void* data_;
  size_t bytes_, at_ = 0;
  bool moves_;
  int tag_;
  int* source_;  // may be null
  MPI_Request request_ = MPI_REQUEST_NULL;
};

// Message of one of our algorithms, which progresses between the layers of a backward pass.
class PostedMessage final : public Message {
 public:
  PostedMessage(PostOffice::End end, int from, SimulatedTime& time, Cost cost)
      : Message(time, std::move(cost)), end_(std::move(end)), from_(from) {}

 private:
  bool over() const override { return end_.over(); }
  int wait() override {
    end_.wait();
    return from_;
  }

  PostOffice::End end_;
  int from_;
};

class TaskOperation final : public Operation {
 public:
  TaskOperation(Task task, SimulatedTime& time, std::unique_ptr<float[]> scratch)
      : scratch_(std::move(scratch)), task_(std::move(task)), time_(time) {}
  bool advance() override { return task_.advance(); }
  bool block() override { return task_.block(); }
  bool met() const override { return task_.has_progressed(); }
  std::string missing() override { return "a rank of the simulation"; }
  double now() const override { return time_.seconds(); }

 private:
  std::unique_ptr<float[]> scratch_;
  Task task_;
  SimulatedTime& time_;
};

// The messages and algorithms of the MPI backend on SimGrid. Gather, scatter, all-gather and the
// barrier are SMPI's own; they block, because SMPI's non-blocking ones are naive.
class SmpiCommunicator final : public MessageCommunicator {
 public:
  SmpiCommunicator(MPI_Comm comm, std::shared_ptr<Shared> shared, SimulatedTime& time)
      : shared_(std::move(shared)), time_(time), group_(std::make_unique<Group>(comm, *shared_)) {}

  int rank() const override { return group_->rank; }
  int size() const override { return group_->size; }
  int node_of(int r) const override { return group_->node_of(r); }

  void add(std::span<float> into, std::span<const float> from) override {
    if (real(into.size_bytes())) Channel::add(into, from);
    time_.spend(local().add(static_cast<double>(into.size_bytes())));
  }

  // Passes are assumed to take as long as an addition, which moves more bytes.
  void spend_pass(size_t bytes) override { time_.spend(local().add(static_cast<double>(bytes))); }
  bool carries(size_t bytes) const override { return real(bytes); }

  Request broadcast(Bytes data, int root) override {
    time_.spend(local().call(Collective::broadcast));
    return MessageCommunicator::broadcast(data, root);
  }

  Request gather(ConstBytes mine, Bytes all, std::span<const int64_t> counts, int root) override {
    time_.catch_up();
    const bool root_here = rank() == root, moves = real(total(counts));
    if (total(counts) > INT_MAX) {
      if (root_here && moves) copy(mine, block_of(all, counts, root));
      return start(gather_by_messages(*this, mine, all, {counts.begin(), counts.end()}, root,
                                      large_collective_tag),
                   Collective::gather, mine.size(), nullptr);
    }
    const Layout layout(counts);
    const void* out = moves ? static_cast<const void*>(mine.data()) : nowhere(mine.size());
    void* in = moves ? static_cast<void*>(all.data()) : nowhere(total(counts));
    const bool in_place =
        root_here && (!moves || mine.data() == all.data() + layout.offsets[as_index(root)]);
    check(MPI_Gatherv(in_place ? MPI_IN_PLACE : out, static_cast<int>(mine.size()), MPI_BYTE, in,
                      layout.counts.data(), layout.offsets.data(), MPI_BYTE, root, group_->comm),
          "MPI_Gatherv");
    time_.spend(local().call(Collective::gather));
    if (root_here)
      for (int r = 0; r < size(); ++r)
        if (r != root) time_.spend(received_cost(r, Collective::gather, counts[as_index(r)]));
    return {};
  }

  Request scatter(ConstBytes all, Bytes mine, std::span<const int64_t> counts, int root) override {
    time_.catch_up();
    const bool root_here = rank() == root, moves = real(total(counts));
    if (total(counts) > INT_MAX) {
      if (root_here && moves) copy(block_of(all, counts, root), mine);
      return start(scatter_by_messages(*this, all, mine, {counts.begin(), counts.end()}, root,
                                       large_collective_tag),
                   Collective::scatter, mine.size(), nullptr);
    }
    const Layout layout(counts);
    const bool in_place =
        root_here && (!moves || mine.data() == all.data() + layout.offsets[as_index(root)]);
    const void* out = moves ? static_cast<const void*>(all.data()) : nowhere(total(counts));
    void* in = moves ? static_cast<void*>(mine.data()) : nowhere(mine.size());
    check(MPI_Scatterv(out, layout.counts.data(), layout.offsets.data(), MPI_BYTE,
                       in_place ? MPI_IN_PLACE : in, static_cast<int>(mine.size()), MPI_BYTE, root,
                       group_->comm),
          "MPI_Scatterv");
    time_.spend(local().call(Collective::scatter));
    if (!root_here)
      time_.spend(received_cost(root, Collective::scatter, static_cast<int64_t>(mine.size())));
    return {};
  }

  // Always moves data: ranks use all-gather to agree.
  Request all_gather(ConstBytes mine, Bytes all, std::span<const int64_t> counts) override {
    time_.catch_up();
    if (total(counts) > INT_MAX) {
      copy(mine, block_of(all, counts, rank()));
      for (int r = 0; r < size(); ++r) broadcast_by_mpi(block_of(all, counts, r), r);
    } else {
      const Layout layout(counts);
      const bool in_place =
          !mine.empty() && mine.data() == all.data() + layout.offsets[as_index(rank())];
      check(MPI_Allgatherv(in_place ? MPI_IN_PLACE : mine.data(), static_cast<int>(mine.size()),
                           MPI_BYTE, all.data(), layout.counts.data(), layout.offsets.data(),
                           MPI_BYTE, group_->comm),
            "MPI_Allgatherv");
    }
    time_.spend(local().call(Collective::all_gather));
    return {};
  }

  Request barrier() override {
    time_.catch_up();
    check(MPI_Barrier(group_->comm), "MPI_Barrier");
    time_.spend(local().call(Collective::barrier));
    return {};
  }

  // SimGrid shares a link among all messages; TCP sends those between two ranks in turn. So only
  // one segment of a stream is on its way, and those that follow have no latency of their own.
  size_t in_flight(int to) const override {
    return group_->local(to) ? MessageCommunicator::in_flight(to) : 1;
  }
  Request send_segment(ConstBytes data, int to, int tag, int streams) override {
    if (!is_posted(tag)) return send(data, to, tag);
    return post(data, to, tag, group_->local(to) ? 0 : hidden_by_stream(to) / streams);
  }
  Request send(ConstBytes data, int to, int tag) override {
    if (is_posted(tag)) return post(data, to, tag, 0);
    time_.catch_up();
    const bool moves = real(data.size());
    return message<SentMessage>(*group_, moves ? data.data() : nowhere_part(data.size()),
                                data.size(), moves, to, tag, time_);
  }
  Request receive(Bytes data, int from, int tag) override {
    return receive_from(data, from, tag, nullptr, cost_of(data.size(), tag));
  }
  Request receive_segment(Bytes data, int from, int tag, size_t whole) override {
    const Whole stream{Collective::receive, static_cast<double>(whole)};
    return receive_from(data, from, tag, nullptr, part_cost(data.size(), stream));
  }
  Request receive_any(Bytes data, int tag, int& from) override {
    return receive_from(data, MPI_ANY_SOURCE, tag, &from, cost_of(data.size(), tag));
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
    return make_self_communicator();  // nothing to simulate
  }
  void abort(const std::string& reason, int) override { throw Failure("{}", reason); }
  std::string backend() const override { return "mpi (simulated by SimGrid)"; }
  std::string host() const override { return fmt::format("node{}", group_->node_of(rank())); }

 protected:
  int tag_for(Collective operation, size_t bytes) override {
    const int index = tasks_++ % tags;
    // A reduce-scatter costs its receivers as much as a reduce.
    const bool scatters = operation == Collective::reduce_scatter;
    wholes_[as_index(index)] = {scatters ? Collective::reduce : operation,
                                static_cast<double>(bytes)};
    // Broadcasts have separate tags, below those of other operations.
    return -index - 1 - (operation == Collective::broadcast ? tags : 0);
  }
  Request start(Task task, Collective operation, size_t,
                std::unique_ptr<float[]> scratch) override {
    return {std::make_unique<TaskOperation>(std::move(task), time_, std::move(scratch)),
            {to_text(operation)},
            0};
  }

 private:
  struct Whole {
    Collective operation = Collective::all_reduce;
    double bytes = 0;
  };
  // Counts and offsets of an SMPI collective, which are ints.
  struct Layout {
    std::vector<int> counts, offsets;
    explicit Layout(std::span<const int64_t> bytes) {
      int at = 0;
      for (const int64_t count : bytes) {
        counts.push_back(static_cast<int>(count));
        offsets.push_back(at);
        at += counts.back();
      }
    }
  };
  // Above all tags that strategies use.
  static constexpr int large_collective_tag = 1 << 20;

  static size_t total(std::span<const int64_t> counts) {
    return static_cast<size_t>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  }
  static void copy(ConstBytes from, Bytes to) {
    if (from.data() != to.data()) std::copy(from.begin(), from.end(), to.begin());
  }
  void broadcast_by_mpi(Bytes data, int root) {
    for (size_t at = 0; at < data.size(); at += largest_part)
      check(MPI_Bcast(data.data() + at, static_cast<int>(std::min(largest_part, data.size() - at)),
                      MPI_BYTE, root, group_->comm),
            "MPI_Bcast");
  }

  static size_t as_index(int r) { return static_cast<size_t>(r); }
  const LocalCosts& local() const { return shared_->local; }
  // Messages of our own algorithms and of streams. Those of other tags may be received from any
  // rank, which only MPI can do.
  static bool is_posted(int tag) { return tag < 0 || tag >= first_stream_tag; }
  Request post(ConstBytes data, int to, int tag, double hidden) {
    time_.catch_up();
    const std::byte* content = real(data.size()) ? data.data() : nullptr;
    return message<PostedMessage>(
        shared_->post.send(address(rank(), to, tag), content, data.size(), hidden), rank(), time_,
        Message::Cost{});
  }
  // Bytes that the way to another rank carries during its latency.
  double hidden_by_stream(int to) const {
    const Cluster& cluster = shared_->job.cluster;
    const int here = group_->node_of(rank()), there = group_->node_of(to);
    double latency = cluster.link.latency;
    double bandwidth = std::min(cluster.upload_of(here), cluster.download_of(there));
    if (cluster.topology == Topology::tree && here / cluster.leaf != there / cluster.leaf) {
      latency += cluster.uplink.latency;
      bandwidth = std::min(bandwidth, cluster.uplink.bandwidth);
    }
    return latency * bandwidth;
  }

  bool real(size_t bytes) const { return shared_->job.moves_data || bytes <= always_moved; }
  void* nowhere(size_t bytes) { return shared_->nowhere.at_least(bytes); }
  std::byte* nowhere_part(size_t bytes) {
    return static_cast<std::byte*>(nowhere(std::min(bytes, largest_part)));
  }

  double received_cost(int from, Collective operation, int64_t bytes) const {
    const auto count = static_cast<double>(bytes);
    return group_->local(from) ? local().receive(operation, count) : remote_cost(count);
  }
  double remote_cost(double bytes) const { return shared_->job.cluster.message_cpu * bytes; }

  Message::Cost cost_of(size_t bytes, int tag) const {
    if (tag < 0) return part_cost(bytes, wholes_[as_index((-tag - 1) % tags)]);
    const auto count = static_cast<int64_t>(bytes);
    return [=, this](int from) { return received_cost(from, Collective::receive, count); };
  }
  // Of a message that is part of an operation on more bytes.
  Message::Cost part_cost(size_t bytes, const Whole& whole) const {
    return [this, whole, part = static_cast<double>(bytes)](int from) {
      return group_->local(from) ? local().receive_part(whole.operation, whole.bytes, part)
                                 : remote_cost(part);
    };
  }

  Request receive_from(Bytes data, int from, int tag, int* source, Message::Cost cost) {
    time_.catch_up();
    const bool moves = real(data.size());
    if (is_posted(tag))
      return message<PostedMessage>(
          shared_->post.receive(address(from, rank(), tag), moves ? data.data() : nullptr,
                                data.size()),
          from, time_, std::move(cost));
    return message<ReceivedMessage>(*group_, moves ? data.data() : nowhere_part(data.size()),
                                    data.size(), moves, from, tag, time_, std::move(cost), source);
  }
  PostOffice::Address address(int from, int to, int tag) const {
    return {group_->id, group_->world_of(from), group_->world_of(to), tag};
  }
  // Few operations are in flight at a time, and each tag has its own mailboxes.
  static constexpr int tags = 8;
  template <class Kind, class... Args>
  Request message(Args&&... args) {
    return {std::make_unique<Kind>(std::forward<Args>(args)...), {"message"}, 0};
  }

  std::shared_ptr<Shared> shared_;
  SimulatedTime& time_;
  std::unique_ptr<Group> group_;
  std::array<Whole, tags> wholes_;  // of the tasks in flight, by tag
  int tasks_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> make_smpi_communicator(const SimulatedJob& job, SimulatedTime& time) {
  // Ranks are contexts of one process and share the state of the job.
  static std::shared_ptr<Shared> shared;
  if (!shared || &shared->job != &job) shared = std::make_shared<Shared>(job);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  shared->post.here(rank);
  return std::make_unique<SmpiCommunicator>(MPI_COMM_WORLD, shared, time);
}

}  // namespace lockstep
