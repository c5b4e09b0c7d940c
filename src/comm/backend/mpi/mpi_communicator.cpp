#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "comm/backend/mpi/congestion.h"
#include "comm/backend/mpi/library.h"
#include "comm/message_communicator.h"
#include "os/machine/identifier.h"

namespace lockstep {
namespace {

// Tags of user messages start here; lower ones belong to our own algorithms.
constexpr int first_user_tag = 1024;
constexpr int roll_call_tag = 1;

std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, static_cast<size_t>(length)};
}

void check(int code, const char* what) {
  if (code != MPI_SUCCESS) throw CommunicationFailure("{} failed: {}", what, text_of(code));
}

// MPI counts in int, and MPI libraries work best far below that limit. Both sides know the size and
// split a larger message the same way; its parts have the same tag and arrive in order.
constexpr size_t largest_part = size_t{1} << 30;

size_t parts_of(size_t bytes) {
  return std::max<size_t>(1, (bytes + largest_part - 1) / largest_part);
}

template <typename B>
B part_at(B data, size_t index) {
  const size_t begin = index * largest_part;
  return data.subspan(begin, std::min(largest_part, data.size() - begin));
}

// Size of a part as an MPI count.
int as_int(size_t bytes) {
  ENSURE(bytes <= largest_part);
  return static_cast<int>(bytes);
}

// Ends the process if it is not destroyed within the time limit: guards MPI calls that may never
// return.
class Deadline {
 public:
  Deadline(double seconds, const char* what)
      : watch_([this, seconds, what] {
          std::unique_lock lock(mutex_);
          if (done_.wait_for(lock, std::chrono::duration<double>(seconds),
                             [this] { return over_; }))
            return;
          fmt::print(
              stderr,
              "lockstep: {} did not finish within {:.0f} s; did all ranks start, and are all "
              "of them still running?\n",
              what, seconds);
          std::fflush(stderr);
          std::_Exit(1);
        }) {}
  ~Deadline() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    done_.notify_one();
    watch_.join();
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool over_ = false;
  std::thread watch_;
};

// Number of ranks that share this machine's cores.
int64_t ranks_on_this_machine(MPI_Comm comm, int size) {
  std::array<char, 64> mine{};
  machine_identifier().copy(mine.data(), mine.size() - 1);
  std::vector<std::array<char, 64>> all(static_cast<size_t>(size));
  check(MPI_Allgather(mine.data(), mine.size(), MPI_CHAR, all.data(), mine.size(), MPI_CHAR, comm),
        "MPI_Allgather");
  return std::count(all.begin(), all.end(), mine);
}

// Sends a byte to each of these ranks and receives one, which opens the connections to them.
void open_connections(MPI_Comm comm, const std::vector<int>& peers) {
  const char out = 1;
  std::vector<char> in(peers.size());
  std::vector<MPI_Request> requests(2 * peers.size());
  for (size_t i = 0; i < peers.size(); ++i) {
    check(MPI_Irecv(&in[i], 1, MPI_CHAR, peers[i], 0, comm, &requests[2 * i]), "MPI_Irecv");
    check(MPI_Isend(&out, 1, MPI_CHAR, peers[i], 0, comm, &requests[2 * i + 1]), "MPI_Isend");
  }
  check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
        "MPI_Waitall");
}

// The MPI communicators of a group, freed with the last user.
struct Group {
  MPI_Comm comm = MPI_COMM_NULL;  // for operations
  MPI_Comm roll = MPI_COMM_NULL;  // for roll_call()
  int rank = 0, size = 1;
  double timeout = 0;
  double patience = 0;
  std::vector<std::string> hosts;
  std::vector<int> nodes;  // for each rank, the first rank that shares memory with it

  Group(MPI_Comm from, double limit, const Group* parent) : timeout(limit) {
    check(MPI_Comm_dup(from, &comm), "MPI_Comm_dup");
    check(MPI_Comm_dup(from, &roll), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(roll, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    char name[MPI_MAX_PROCESSOR_NAME] = {};
    int length = 0;
    MPI_Get_processor_name(name, &length);
    std::vector<char> all(static_cast<size_t>(size) * MPI_MAX_PROCESSOR_NAME);
    check(MPI_Allgather(name, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, all.data(), MPI_MAX_PROCESSOR_NAME,
                        MPI_CHAR, comm),
          "MPI_Allgather");
    for (int r = 0; r < size; ++r)
      hosts.emplace_back(all.data() + static_cast<size_t>(r) * MPI_MAX_PROCESSOR_NAME);
    MPI_Comm here;
    check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &here),
          "MPI_Comm_split_type");
    int first = rank;
    check(MPI_Bcast(&first, 1, MPI_INT, 0, here), "MPI_Bcast");
    MPI_Comm_free(&here);
    nodes.resize(static_cast<size_t>(size));
    check(MPI_Allgather(&first, 1, MPI_INT, nodes.data(), 1, MPI_INT, comm), "MPI_Allgather");
    if (!parent) prepare_sockets();
    patience = parent ? parent->patience : patience_of(ranks_on_this_machine(comm, size));
  }
  // Open MPI opens a connection with the first message. Very large jobs leave it at that.
  void prepare_sockets() const {
    constexpr int most_connections = 256;
    std::vector<int> peers;
    for (int r = 0; r < size; ++r)
      if (nodes[static_cast<size_t>(r)] != nodes[static_cast<size_t>(rank)]) peers.push_back(r);
    if (peers.empty() || size > most_connections) return;
    open_connections(comm, peers);
    avoid_bbr();
  }
  ~Group() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized) return;
    MPI_Comm_free(&comm);
    MPI_Comm_free(&roll);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
};

// All ranks that wait for a missing one time out at about the same moment. Each announces itself to
// all others; ranks that are not heard within a second are missing.
std::string roll_call(const Group& group) {
  std::vector<bool> there(static_cast<size_t>(group.size), false);
  there[static_cast<size_t>(group.rank)] = true;
  std::vector<MPI_Request> sent;
  char here = 1;
  for (int r = 0; r < group.size; ++r)
    if (r != group.rank) {
      sent.emplace_back();
      MPI_Isend(&here, 1, MPI_CHAR, r, roll_call_tag, group.roll, &sent.back());
    }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < end) {
    int came = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, roll_call_tag, group.roll, &came, &status);
    if (came) {
      char ignored;
      MPI_Recv(&ignored, 1, MPI_CHAR, status.MPI_SOURCE, roll_call_tag, group.roll,
               MPI_STATUS_IGNORE);
      there[static_cast<size_t>(status.MPI_SOURCE)] = true;
      continue;
    }
    if (std::count(there.begin(), there.end(), false) == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (MPI_Request& request : sent) MPI_Request_free(&request);
  std::string text;
  for (int r = 0; r < group.size; ++r)
    if (!there[static_cast<size_t>(r)])
      text += fmt::format("{}rank {} on host {}", text.empty() ? "" : ", ", r,
                          group.hosts[static_cast<size_t>(r)]);
  return text.empty() ? "a rank that is alive but not taking part" : text;
}

class MpiOperation : public Operation {
 public:
  explicit MpiOperation(std::shared_ptr<const Group> group) : group_(std::move(group)) {}
  bool met() const override { return false; }  // MPI does not report it
  std::string missing() override { return roll_call(*group_); }
  double patience() const override { return group_->patience; }

 protected:
  const Group& group() const { return *group_; }

 private:
  std::shared_ptr<const Group> group_;
};

class NativeOperation final : public MpiOperation {
 public:
  NativeOperation(std::shared_ptr<const Group> group, MPI_Request request)
      : MpiOperation(std::move(group)), request_(request) {}
  bool advance() override {
    int done = 0;
    check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "communication");
    return done != 0;
  }

 private:
  MPI_Request request_;
};

MPI_Request start_receiving(Bytes part, int from, int wire_tag, MPI_Comm comm) {
  MPI_Request request;
  check(MPI_Irecv(part.data(), as_int(part.size()), MPI_BYTE, from, wire_tag, comm, &request),
        "MPI_Irecv");
  return request;
}

// A message in several parts.
class PartsOperation final : public MpiOperation {
 public:
  PartsOperation(std::shared_ptr<const Group> group, std::vector<MPI_Request> requests)
      : MpiOperation(std::move(group)), requests_(std::move(requests)) {}
  bool advance() override {
    int done = 0;
    check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                      MPI_STATUSES_IGNORE),
          "communication");
    return done != 0;
  }

 private:
  std::vector<MPI_Request> requests_;
};

// Receives from any rank. The sender of the first part sends the others too.
class AnyoneOperation final : public MpiOperation {
 public:
  AnyoneOperation(std::shared_ptr<const Group> group, Bytes data, int wire_tag, int& source)
      : MpiOperation(std::move(group)), data_(data), wire_tag_(wire_tag), source_(source) {
    receive_part(MPI_ANY_SOURCE);
  }
  bool advance() override {
    for (;;) {
      int done = 0;
      MPI_Status status;
      check(MPI_Test(&request_, &done, &status), "communication");
      if (!done) return false;
      source_ = status.MPI_SOURCE;
      if (next_ == parts_of(data_.size())) return true;
      receive_part(source_);
    }
  }

 private:
  void receive_part(int from) {
    request_ = start_receiving(part_at(data_, next_++), from, wire_tag_, group().comm);
  }

  Bytes data_;
  int wire_tag_;
  int& source_;
  size_t next_ = 0;  // next part to receive
  MPI_Request request_ = MPI_REQUEST_NULL;
};

// One of our algorithms built from messages.
class TaskOperation final : public MpiOperation {
 public:
  // Owns `scratch`, memory that the task works on.
  TaskOperation(std::shared_ptr<const Group> group, Task task, std::unique_ptr<float[]> scratch)
      : MpiOperation(std::move(group)), scratch_(std::move(scratch)), task_(std::move(task)) {}
  bool advance() override { return task_.advance(); }
  bool met() const override { return task_.has_progressed(); }

 private:
  std::unique_ptr<float[]> scratch_;
  Task task_;
};

// All collectives except the barrier are our own: Open MPI's non-blocking all-reduce progresses
// only inside MPI calls and takes twice as long as the blocking one, its reduce of 4 MB took 38 ms
// (ours: 1 ms), and its gather and scatter count in int.
class MpiCommunicator final : public MessageCommunicator {
 public:
  MpiCommunicator(MPI_Comm comm, double timeout, const Group* parent = nullptr)
      : group_(std::make_shared<Group>(comm, timeout, parent)) {}

  int rank() const override { return group_->rank; }
  int size() const override { return group_->size; }
  int node_of(int r) const override { return group_->nodes[static_cast<size_t>(r)]; }

  Request barrier() override {
    MPI_Request request;
    check(MPI_Ibarrier(group_->comm, &request), "MPI_Ibarrier");
    return native(request, "barrier", 0);
  }

  Request send(ConstBytes data, int to, int tag) override {
    return in_parts("send", data, [&](ConstBytes part) {
      MPI_Request request;
      check(MPI_Isend(part.data(), as_int(part.size()), MPI_BYTE, to, wire_tag(tag), group_->comm,
                      &request),
            "MPI_Isend");
      return request;
    });
  }

  Request receive(Bytes data, int from, int tag) override {
    return in_parts("receive", data, [&](Bytes part) {
      return start_receiving(part, from, wire_tag(tag), group_->comm);
    });
  }

  Request receive_any(Bytes data, int tag, int& from) override {
    return named(std::make_unique<AnyoneOperation>(group_, data, wire_tag(tag), from), "receive",
                 data.size());
  }

  void read_file(const std::string& path, int64_t from, Bytes into) override {
    MPI_File file;
    const int opened =
        MPI_File_open(group_->comm, path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    if (opened != MPI_SUCCESS) throw UserError("cannot read {}: {}", path, text_of(opened));
    // Reads are collective: all ranks make the same number of calls, the last ones possibly empty.
    auto rounds = static_cast<int64_t>(parts_of(into.size()));
    int code = MPI_Allreduce(MPI_IN_PLACE, &rounds, 1, MPI_INT64_T, MPI_MAX, group_->comm);
    size_t done = 0;
    for (int64_t round = 0; round < rounds && code == MPI_SUCCESS; ++round) {
      const Bytes part = into.subspan(done, std::min(largest_part, into.size() - done));
      MPI_Status status;
      code = MPI_File_read_at_all(file, from + static_cast<int64_t>(done), part.data(),
                                  as_int(part.size()), MPI_BYTE, &status);
      int count = 0;
      if (code == MPI_SUCCESS) MPI_Get_count(&status, MPI_BYTE, &count);
      done += static_cast<size_t>(std::max(0, count));
    }
    MPI_File_close(&file);
    check(code, "MPI_File_read_at_all");
    if (done != into.size())
      throw UserError("{} is truncated: {} bytes were expected from byte {} on, {} are there", path,
                      into.size(), from, done);
  }

  std::unique_ptr<Communicator> split(int color, int key) override {
    MPI_Comm part;
    check(MPI_Comm_split(group_->comm, color, key, &part), "MPI_Comm_split");
    auto made = std::make_unique<MpiCommunicator>(part, group_->timeout, group_.get());
    MPI_Comm_free(&part);
    return made;
  }

  void abort(const std::string& reason, int exit_code) override {
    // An error that all ranks share is printed once: other ranks give rank 0 a second to end the
    // job.
    std::signal(SIGTERM, SIG_DFL);  // lets mpiexec end this rank meanwhile
    if (rank() > 0) std::this_thread::sleep_for(std::chrono::seconds(1));
    fmt::print(stderr, "lockstep: rank {} on host {}: {}\n", rank(), host(), reason);
    std::fflush(stderr);
    const Deadline deadline(5, "ending the job");
    MPI_Abort(MPI_COMM_WORLD, exit_code);
  }

  std::string backend() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string whole(text, static_cast<size_t>(length));
    return "mpi (" + whole.substr(0, whole.find_first_of(",\n")) + ")";
  }
  std::string host() const override { return group_->hosts[static_cast<size_t>(rank())]; }

 protected:
  int tag_for(Collective, size_t) override {
    tasks_ = tasks_ % 1000 + 1;
    return -(tasks_ + 1);
  }
  // Sends the first messages now, so that MPI can progress them within other calls.
  Request start(Task task, Collective operation, size_t bytes,
                std::unique_ptr<float[]> scratch) override {
    Request request =
        named(std::make_unique<TaskOperation>(group_, std::move(task), std::move(scratch)),
              to_text(operation), bytes);
    request.test();
    return request;
  }

 private:
  static int wire_tag(int tag) { return tag < 0 ? -tag : first_user_tag + tag; }

  Request native(MPI_Request request, const char* name, size_t bytes) {
    return named(std::make_unique<NativeOperation>(group_, request), name, bytes);
  }
  Request named(std::unique_ptr<Operation> operation, const char* name, size_t bytes) {
    return {std::move(operation), {name, bytes}, group_->timeout};
  }
  template <typename B, typename Start>
  Request in_parts(const char* name, B data, const Start& start) {
    if (data.size() <= largest_part) return native(start(data), name, data.size());
    std::vector<MPI_Request> requests;
    for (size_t i = 0; i < parts_of(data.size()); ++i) requests.push_back(start(part_at(data, i)));
    return named(std::make_unique<PartsOperation>(group_, std::move(requests)), name, data.size());
  }

  std::shared_ptr<Group> group_;
  int tasks_ = 0;
};

// Over TCP, Open MPI sends messages above 64 KB only after a handshake. The answer waits behind
// data that flow the other way, so two ranks that swap halves would take turns. The limit is raised
// above the size of our segments.
void send_eagerly() {
  for (const char* name : {"OMPI_MCA_btl_tcp_eager_limit", "OMPI_MCA_btl_tcp_max_send_size"})
    ::setenv(name, "1048576", 0);  // 0: keeps settings of the user
}

std::unique_ptr<Communicator> join(double timeout) {
  send_eagerly();
  const Deadline deadline(timeout, "starting MPI (limit: parallel.timeout)");
  int provided = 0;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_FUNNELED)
    throw Failure(
        "this MPI provides only thread level {}; MPI_THREAD_FUNNELED is needed because a rank may "
        "have several threads",
        provided);
  return std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, timeout);
}

void leave() {
  const Deadline deadline(60, "ending MPI");
  MPI_Finalize();
}

}  // namespace
}  // namespace lockstep

const lockstep::MpiLibrary lockstep_mpi_library = {.join = lockstep::join,
                                                   .leave = lockstep::leave};
