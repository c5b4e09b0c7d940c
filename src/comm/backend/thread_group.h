#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "comm/collective.h"
#include "comm/communicator.h"

namespace lockstep {

// What one rank brings to a collective operation.
struct Post {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
};

// Where the ranks of one collective operation meet: each posts its buffers; when all have come,
// each does its share of the work directly on the buffers of all; when all shares are done, it is
// over.
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

// Where the threads are simulated: how a rank waits, and what its share of an operation costs.
class ThreadSimulation {
 public:
  virtual ~ThreadSimulation() = default;
  virtual double now() const = 0;
  virtual void catch_up() = 0;  // what the calling rank did so far is over
  virtual void changed() = 0;   // ranks that wait look again
  virtual void wait_for_change() = 0;
  // The calling rank's share of an operation on so many bytes. False: nothing is to be moved.
  virtual bool spend(Collective operation, size_t bytes) = 0;
};

// What the ranks of a group share.
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
  const std::shared_ptr<std::atomic<bool>> failed;  // one rank of the job threw
  ThreadSimulation* const simulation;               // null: threads are real

  // On lines of memory of its own: other ranks look into theirs all the time.
  struct alignas(128) Mailbox {
    std::mutex mutex;
    std::vector<Message> messages;    // in the order in which they were sent
    std::atomic<uint64_t> posted{0};  // messages ever: who waits looks here, without the lock
  };
  std::vector<Mailbox> mailboxes;  // one a receiver

 private:
  static std::vector<Mailbox> mailboxes_for(int size) {
    return std::vector<Mailbox>(static_cast<size_t>(size));
  }

  std::mutex mutex_;
  std::map<uint64_t, std::pair<std::shared_ptr<Meeting>, int>> meetings_;  // and how many asked
  std::map<std::pair<uint64_t, int>, std::pair<std::shared_ptr<ThreadGroup>, int>> subgroups_;
};

// One rank of it.
std::unique_ptr<Communicator> make_thread_rank(std::shared_ptr<ThreadGroup> group, int rank);

}  // namespace lockstep
