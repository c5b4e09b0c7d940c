#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "comm/collective.h"
#include "comm/communicator.h"

namespace lockstep {

// Buffers of one rank in a collective operation.
struct Post {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
};

// State of one collective operation. Each rank posts its buffers. Once all have arrived, each does
// its share of the work directly on the buffers of all ranks. The operation is complete when all
// shares are done.
struct Meeting {
  explicit Meeting(int size) : posts(static_cast<size_t>(size)), came(posts.size()) {}
  std::vector<Post> posts;
  std::vector<std::atomic<bool>> came;
  std::atomic<int> arrived{0}, done{0};
};

struct Message {
  ConstBytes data;
  int from = 0, tag = 0;
  std::atomic<bool>* taken = nullptr;
};

// Simulated threads: how a rank waits, and what its share of an operation costs.
class ThreadSimulation {
 public:
  virtual ~ThreadSimulation() = default;
  virtual double now() const = 0;
  virtual void catch_up() = 0;  // lets simulated time pass for what the calling rank has spent
  virtual void changed() = 0;   // wakes waiting ranks, which poll again
  virtual void wait_for_change() = 0;
  // Spends the time of the calling rank's share of an operation on `bytes` bytes, which are part of
  // `whole` bytes. False: no data need be moved.
  virtual bool spend(Collective operation, size_t bytes, size_t whole) = 0;
};

// State shared by the ranks of a group.
class ThreadGroup {
 public:
  ThreadGroup(int size, double timeout, double patience, std::shared_ptr<std::atomic<bool>> failed,
              ThreadSimulation* simulation = nullptr)
      : size(size),
        timeout(timeout),
        patience(patience),
        failed(std::move(failed)),
        simulation(simulation),
        mailboxes(mailboxes_for(size)) {}

  std::shared_ptr<Meeting> meeting(uint64_t number);
  std::shared_ptr<ThreadGroup> subgroup(uint64_t number, int color, int members);

  const int size;
  const double timeout, patience;
  const std::shared_ptr<std::atomic<bool>> failed;  // a rank of the job failed
  ThreadSimulation* const simulation;               // null: threads are real

  // On separate cache lines: other ranks poll their own mailboxes all the time.
  struct alignas(128) Mailbox {
    std::mutex mutex;
    std::vector<Message> messages;    // in the order they were sent
    std::atomic<uint64_t> posted{0};  // total number; receivers poll it without the lock
  };
  std::vector<Mailbox> mailboxes;  // one per receiver

 private:
  static std::vector<Mailbox> mailboxes_for(int size) {
    return std::vector<Mailbox>(static_cast<size_t>(size));
  }

  std::mutex mutex_;
  // Each with the number of ranks that fetched it.
  std::map<uint64_t, std::pair<std::shared_ptr<Meeting>, int>> meetings_;
  std::map<std::pair<uint64_t, int>, std::pair<std::shared_ptr<ThreadGroup>, int>> subgroups_;
};

// Makes one rank of the group.
std::unique_ptr<Communicator> make_thread_rank(std::shared_ptr<ThreadGroup> group, int rank);

}  // namespace lockstep
