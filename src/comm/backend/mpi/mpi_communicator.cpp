#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <list>
#include <mutex>
#include <thread>

#include "comm/algorithms/all_reduce.h"
#include "comm/algorithms/broadcast.h"
#include "comm/backend/mpi/library.h"

namespace lockstep {
namespace {

// Users' messages have tags from here on; below are those of our own algorithms.
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

int as_int(size_t count) {
  ENSURE(count <= INT_MAX);
  return static_cast<int>(count);
}

// Ends the process if something that MPI does not give back takes too long. While it lives.
class Deadline {
 public:
  Deadline(double seconds, const char* what)
      : watch_([this, seconds, what] {
          std::unique_lock lock(mutex_);
          if (done_.wait_for(lock, std::chrono::duration<double>(seconds),
                             [this] { return over_; }))
            return;
          fmt::print(stderr,
                     "lockstep: {} did not end within {:.0f} s (parallel.timeout); did all ranks "
                     "start, and is each still there?\n",
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

// The MPI communicators of a group, freed with the last user.
struct Group {
  MPI_Comm comm = MPI_COMM_NULL;  // for operations
  MPI_Comm roll = MPI_COMM_NULL;  // for finding out who is missing
  int rank = 0, size = 1;
  double timeout = 0;
  double patience = 0;
  std::vector<std::string> hosts;

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
    patience =
        parent
            ? parent->patience
            : patience_of(std::count(hosts.begin(), hosts.end(), hosts[static_cast<size_t>(rank)]));
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

// All ranks that wait for the one that is missing run out of time at about the same moment. Each
// tells all others that it is there; who says nothing within a second is missing.
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
  return text.empty() ? "a rank that answers, but does something else" : text;
}

// A native operation of MPI.
class NativeOperation final : public Operation {
 public:
  NativeOperation(std::shared_ptr<const Group> group, MPI_Request request, int* source = nullptr)
      : group_(std::move(group)), request_(request), source_(source) {}

  bool advance() override {
    int done = 0;
    MPI_Status status;
    check(MPI_Test(&request_, &done, &status), "communication");
    if (done && source_) *source_ = status.MPI_SOURCE;
    return done != 0;
  }
  bool met() const override { return false; }  // MPI does not tell
  std::string missing() override { return roll_call(*group_); }
  double patience() const override { return group_->patience; }

 private:
  std::shared_ptr<const Group> group_;
  MPI_Request request_;
  int* source_;
};

// One of our algorithms over messages.
class TaskOperation final : public Operation {
 public:
  // `scratch`: memory that the task works on and nobody else keeps.
  TaskOperation(std::shared_ptr<const Group> group, Task task,
                std::unique_ptr<float[]> scratch = nullptr)
      : group_(std::move(group)), scratch_(std::move(scratch)), task_(std::move(task)) {}
  bool advance() override { return task_.advance(); }
  bool met() const override { return task_.steps() > 0; }
  std::string missing() override { return roll_call(*group_); }
  double patience() const override { return group_->patience; }

 private:
  std::shared_ptr<const Group> group_;
  std::unique_ptr<float[]> scratch_;
  Task task_;
};

struct Layout {
  std::vector<int> counts, offsets;
  explicit Layout(std::span<const int64_t> bytes) {
    int at = 0;
    for (const int64_t count : bytes) {
      counts.push_back(as_int(static_cast<size_t>(count)));
      offsets.push_back(at);
      at += counts.back();
    }
  }
};

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(MPI_Comm comm, double timeout, const Group* parent = nullptr)
      : group_(std::make_shared<Group>(comm, timeout, parent)) {}

  int rank() const override { return group_->rank; }
  int size() const override { return group_->size; }

  // Over messages, not MPI_Iallreduce: Open MPI's moves only inside its own calls and takes twice
  // as long as the blocking one.
  Request all_reduce(std::span<const float> from, std::span<float> to) override {
    if (from.data() != to.data()) std::copy(from.begin(), from.end(), to.begin());
    if (size() == 1) return {};
    const int tag = next_tag();
    return named(std::make_unique<TaskOperation>(group_, all_reduce_by_messages(*this, to, tag)),
                 "all-reduce", from.size_bytes());
  }

  // Over messages too: Open MPI's moves a segment at each call; 4 MB took it 38 ms, this takes 1.
  Request reduce(std::span<const float> from, std::span<float> to, int root) override {
    std::unique_ptr<float[]> scratch;
    if (from.data() != to.data() && rank() != root) {
      scratch = std::make_unique_for_overwrite<float[]>(from.size());
      to = {scratch.get(), from.size()};
    }
    if (from.data() != to.data()) std::copy(from.begin(), from.end(), to.begin());
    if (size() == 1) return {};
    return named(std::make_unique<TaskOperation>(
                     group_, reduce_by_messages(*this, to, root, next_tag()), std::move(scratch)),
                 "reduce", from.size_bytes());
  }

  Request reduce_scatter(std::span<const float> from, std::span<float> to) override {
    std::vector<int64_t> parts(static_cast<size_t>(size()));
    for (int r = 0; r < size(); ++r)
      parts[static_cast<size_t>(r)] = part_of(static_cast<int64_t>(from.size()), size(), r).size();
    layouts_.emplace_back(parts);
    MPI_Request request;
    check(MPI_Ireduce_scatter(from.data(), to.data(), layouts_.back().counts.data(), MPI_FLOAT,
                              MPI_SUM, group_->comm, &request),
          "MPI_Ireduce_scatter");
    return native(request, "reduce-scatter", from.size_bytes());
  }

  Request broadcast(Bytes data, int root) override {
    if (size() == 1) return {};
    return named(std::make_unique<TaskOperation>(
                     group_, broadcast_by_messages(*this, data, root, next_tag())),
                 "broadcast", data.size());
  }

  Request gather(ConstBytes mine, Bytes all, std::span<const int64_t> counts, int root) override {
    layouts_.emplace_back(counts);
    const Layout& layout = layouts_.back();
    const bool in_place = rank() == root && !mine.empty() &&
                          mine.data() == all.data() + layout.offsets[static_cast<size_t>(root)];
    MPI_Request request;
    check(MPI_Igatherv(in_place ? MPI_IN_PLACE : mine.data(), as_int(mine.size()), MPI_BYTE,
                       all.data(), layout.counts.data(), layout.offsets.data(), MPI_BYTE, root,
                       group_->comm, &request),
          "MPI_Igatherv");
    return native(request, "gather", mine.size());
  }

  Request scatter(ConstBytes all, Bytes mine, std::span<const int64_t> counts, int root) override {
    layouts_.emplace_back(counts);
    const Layout& layout = layouts_.back();
    const bool in_place = rank() == root && !mine.empty() &&
                          mine.data() == all.data() + layout.offsets[static_cast<size_t>(root)];
    MPI_Request request;
    check(MPI_Iscatterv(all.data(), layout.counts.data(), layout.offsets.data(), MPI_BYTE,
                        in_place ? MPI_IN_PLACE : mine.data(), as_int(mine.size()), MPI_BYTE, root,
                        group_->comm, &request),
          "MPI_Iscatterv");
    return native(request, "scatter", mine.size());
  }

  Request all_gather(ConstBytes mine, Bytes all, std::span<const int64_t> counts) override {
    layouts_.emplace_back(counts);
    const Layout& layout = layouts_.back();
    const bool in_place =
        !mine.empty() && mine.data() == all.data() + layout.offsets[static_cast<size_t>(rank())];
    MPI_Request request;
    check(MPI_Iallgatherv(in_place ? MPI_IN_PLACE : mine.data(), as_int(mine.size()), MPI_BYTE,
                          all.data(), layout.counts.data(), layout.offsets.data(), MPI_BYTE,
                          group_->comm, &request),
          "MPI_Iallgatherv");
    return native(request, "all-gather", all.size());
  }

  Request barrier() override {
    MPI_Request request;
    check(MPI_Ibarrier(group_->comm, &request), "MPI_Ibarrier");
    return native(request, "barrier", 0);
  }

  Request send(ConstBytes data, int to, int tag) override {
    MPI_Request request;
    check(MPI_Isend(data.data(), as_int(data.size()), MPI_BYTE, to, wire_tag(tag), group_->comm,
                    &request),
          "MPI_Isend");
    return native(request, "send", data.size());
  }

  Request receive(Bytes data, int from, int tag) override {
    MPI_Request request;
    check(MPI_Irecv(data.data(), as_int(data.size()), MPI_BYTE, from, wire_tag(tag), group_->comm,
                    &request),
          "MPI_Irecv");
    return native(request, "receive", data.size());
  }

  Request receive_any(Bytes data, int tag, int& from) override {
    MPI_Request request;
    check(MPI_Irecv(data.data(), as_int(data.size()), MPI_BYTE, MPI_ANY_SOURCE, wire_tag(tag),
                    group_->comm, &request),
          "MPI_Irecv");
    return named(std::make_unique<NativeOperation>(group_, request, &from), "receive", data.size());
  }

  void read_file(const std::string& path, int64_t from, Bytes into) override {
    MPI_File file;
    const int opened =
        MPI_File_open(group_->comm, path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    if (opened != MPI_SUCCESS) throw UserError("cannot read {}: {}", path, text_of(opened));
    MPI_Status status;
    const int code =
        MPI_File_read_at_all(file, from, into.data(), as_int(into.size()), MPI_BYTE, &status);
    MPI_File_close(&file);
    check(code, "MPI_File_read_at_all");
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (static_cast<size_t>(count) != into.size())
      throw UserError("{} is truncated: {} bytes were expected from byte {} on, {} are there", path,
                      into.size(), from, count);
  }

  std::unique_ptr<Communicator> split(int color, int key) override {
    MPI_Comm part;
    check(MPI_Comm_split(group_->comm, color, key, &part), "MPI_Comm_split");
    auto made = std::make_unique<MpiCommunicator>(part, group_->timeout, group_.get());
    MPI_Comm_free(&part);
    return made;
  }

  void abort(const std::string& reason, int exit_code) override {
    // What every rank meets is said once: the others give rank 0 a moment.
    std::signal(SIGTERM, SIG_DFL);  // by which mpiexec ends it then
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

 private:
  // Negative tags are those of our own algorithms.
  int next_tag() {
    tasks_ = tasks_ % 1000 + 1;
    return -(tasks_ + 1);
  }
  static int wire_tag(int tag) { return tag < 0 ? -tag : first_user_tag + tag; }

  Request native(MPI_Request request, const char* name, size_t bytes) {
    return named(std::make_unique<NativeOperation>(group_, request), name, bytes);
  }
  Request named(std::unique_ptr<Operation> operation, const char* name, size_t bytes) {
    // Layouts must live as long as their operations; only few are ever under way.
    while (layouts_.size() > 64) layouts_.pop_front();
    return {std::move(operation), {name, bytes}, group_->timeout};
  }

  std::shared_ptr<Group> group_;
  std::list<Layout> layouts_;
  int tasks_ = 0;
};

// Over TCP Open MPI asks before it sends more than 64 KB, and the answer waits behind what flows
// the other way: two ranks that swap halves take turns instead. Our pieces are sent unasked.
void send_pieces_unasked() {
  for (const char* name : {"OMPI_MCA_btl_tcp_eager_limit", "OMPI_MCA_btl_tcp_max_send_size"})
    ::setenv(name, "1048576", 0);  // what the user says holds
}

std::unique_ptr<Communicator> join(double timeout) {
  send_pieces_unasked();
  const Deadline deadline(timeout, "the start of MPI");
  int provided = 0;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_FUNNELED)
    throw Failure(
        "this MPI grants thread level {} only; MPI_THREAD_FUNNELED is needed, since a rank may "
        "have "
        "threads of its own",
        provided);
  return std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, timeout);
}

void leave() {
  const Deadline deadline(60, "the end of MPI");
  MPI_Finalize();
}

}  // namespace
}  // namespace lockstep

const lockstep::MpiLibrary lockstep_mpi_library = {.join = lockstep::join,
                                                   .leave = lockstep::leave};
