#include "comm/backend/threads.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>

#include "comm/backend/self.h"
#include "comm/backend/thread_group.h"
#include "os/relax.h"
#include "os/thread_pool.h"

namespace lockstep {
namespace {

void check_failed(const ThreadGroup& group) {
  if (group.failed->load(std::memory_order_relaxed))
    throw CommunicationFailure("another rank failed");
}

std::string ranks_text(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (size_t i = 0; i < ranks.size(); ++i) text += fmt::format("{}{}", i ? ", " : " ", ranks[i]);
  return text;
}

// Base of all operations between threads. The group outlives them; reference counting would move a
// cache line between all ranks.
class ThreadOperation : public Operation {
 public:
  explicit ThreadOperation(ThreadGroup& group) : group_(group) { catch_up(); }

  bool block() override {
    if (group_.simulation) {
      group_.simulation->wait_for_change();
      return true;
    }
    // Polling without a pause keeps taking the cache line from the rank about to write it.
    for (int i = 0; i < 4; ++i) relax();
    return false;
  }
  double patience() const override { return group_.patience; }
  double now() const override {
    return group_.simulation ? group_.simulation->now() : Operation::now();
  }

 protected:
  void catch_up() {
    if (group_.simulation) group_.simulation->catch_up();
  }
  void changed() {
    if (group_.simulation) group_.simulation->changed();
  }
  // Whether data must be moved. In a simulation, spends the time of the operation.
  bool moves(Collective operation, size_t bytes, size_t whole) {
    return !group_.simulation || group_.simulation->spend(operation, bytes, whole);
  }

  ThreadGroup& group_;
};

// A rank's share of the work, given the posts of all ranks.
using Share = std::function<void(const std::vector<Post>&)>;

class MeetingOperation final : public ThreadOperation {
 public:
  MeetingOperation(ThreadGroup& group, std::shared_ptr<Meeting> meeting, int rank, Collective name,
                   size_t bytes, Post post, Share share)
      : ThreadOperation(group),
        meeting_(std::move(meeting)),
        name_(name),
        bytes_(bytes),
        share_(std::move(share)) {
    meeting_->posts[static_cast<size_t>(rank)] = post;
    meeting_->came[static_cast<size_t>(rank)].store(true, std::memory_order_relaxed);
    meeting_->arrived.fetch_add(1, std::memory_order_acq_rel);
    changed();
  }

  bool advance() override {
    catch_up();
    if (!met()) {
      check_failed(group_);
      return false;
    }
    if (share_) {
      if (moves(name_, bytes_, bytes_)) share_(meeting_->posts);
      share_ = nullptr;
      meeting_->done.fetch_add(1, std::memory_order_acq_rel);
      changed();
    }
    if (meeting_->done.load(std::memory_order_acquire) == group_.size) return true;
    check_failed(group_);
    return false;
  }

  bool met() const override {
    return meeting_->arrived.load(std::memory_order_acquire) == group_.size;
  }

  std::string missing() override {
    std::vector<int> absent;
    for (int r = 0; r < group_.size; ++r)
      if (!meeting_->came[static_cast<size_t>(r)].load()) absent.push_back(r);
    return absent.empty() ? "ranks that arrived but did not finish" : ranks_text(absent);
  }

 private:
  std::shared_ptr<Meeting> meeting_;
  Collective name_;
  size_t bytes_;
  Share share_;
};

// The receiver copies the data and then sets the flag of the sender.
class SendOperation final : public ThreadOperation {
 public:
  SendOperation(ThreadGroup& group, ConstBytes data, int from, int to, int tag)
      : ThreadOperation(group), to_(to) {
    ThreadGroup::Mailbox& box = group_.mailboxes[static_cast<size_t>(to)];
    {
      const std::lock_guard lock(box.mutex);
      box.messages.push_back({data, from, tag, &taken_});
      box.posted.fetch_add(1, std::memory_order_release);
    }
    changed();
  }
  ~SendOperation() override {
    if (met()) return;
    // Abandoned: no receiver may copy from the buffer any more.
    ThreadGroup::Mailbox& box = group_.mailboxes[static_cast<size_t>(to_)];
    const std::lock_guard lock(box.mutex);
    std::erase_if(box.messages, [this](const Message& m) { return m.taken == &taken_; });
  }
  bool advance() override {
    catch_up();
    if (met()) return true;
    check_failed(group_);
    return false;
  }
  bool met() const override { return taken_.load(std::memory_order_acquire); }
  std::string missing() override { return ranks_text({to_}); }

 private:
  int to_;
  std::atomic<bool> taken_{false};
};

constexpr int anyone = -1;

class ReceiveOperation final : public ThreadOperation {
 public:
  // `whole`: bytes of the stream that the message belongs to.
  ReceiveOperation(ThreadGroup& group, Bytes data, size_t whole, int me, int from, int tag,
                   int* sender)
      : ThreadOperation(group),
        data_(data),
        whole_(whole),
        me_(me),
        from_(from),
        tag_(tag),
        sender_(sender) {}

  bool advance() override {
    catch_up();
    ThreadGroup::Mailbox& box = group_.mailboxes[static_cast<size_t>(me_)];
    const uint64_t posted = box.posted.load(std::memory_order_acquire);
    if (posted == looked_at_) {  // nothing new: leave the lock to senders
      check_failed(group_);
      return false;
    }
    std::unique_lock lock(box.mutex);
    const auto found = std::find_if(
        box.messages.begin(), box.messages.end(),
        [this](const Message& m) { return m.tag == tag_ && (from_ == anyone || m.from == from_); });
    if (found == box.messages.end()) {
      looked_at_ = posted;
      check_failed(group_);
      return false;
    }
    const Message message = *found;
    ENSURE(message.data.size() == data_.size());
    box.messages.erase(found);
    if (group_.simulation) lock.unlock();  // others run while this rank spends time
    if (moves(Collective::receive, data_.size(), whole_) && !data_.empty())
      std::memcpy(data_.data(), message.data.data(), data_.size());
    if (sender_) *sender_ = message.from;
    message.taken->store(true, std::memory_order_release);
    changed();
    return true;
  }
  bool met() const override { return false; }
  std::string missing() override { return from_ == anyone ? "any rank" : ranks_text({from_}); }

 private:
  Bytes data_;
  size_t whole_;
  int me_, from_, tag_;
  int* sender_;
  uint64_t looked_at_ = UINT64_MAX;  // value of `posted` at the last search
};

template <typename T>
const T* from(const Post& post) {
  return reinterpret_cast<const T*>(post.from);
}

constexpr int64_t summed_at_once = 4096;  // floats; a segment of each rank fits the cache

// out = elements [begin, begin + count) summed over ranks [first, last), neighbours first.
void tree_sum(const std::vector<Post>& posts, size_t first, size_t last, int64_t begin,
              int64_t count, float* out) {
  if (last - first == 1) {
    std::copy_n(from<float>(posts[first]) + begin, count, out);
    return;
  }
  if (last - first == 2) {
    const float *a = from<float>(posts[first]) + begin, *b = from<float>(posts[first + 1]) + begin;
    for (int64_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
    return;
  }
  const size_t half = std::bit_ceil((last - first + 1) / 2);
  const size_t middle = first + std::min(half, last - first - 1);
  alignas(64) float right[summed_at_once];
  tree_sum(posts, first, middle, begin, count, out);
  tree_sum(posts, middle, last, begin, count, right);
  for (int64_t i = 0; i < count; ++i) out[i] += right[i];
}

// Sums the elements of `part` over all posts segment by segment; `use` receives each segment.
template <typename Use>
void sum_part(const std::vector<Post>& posts, Part part, const Use& use) {
  alignas(64) float sum[summed_at_once];
  for (int64_t at = part.begin; at < part.end; at += summed_at_once) {
    const int64_t count = std::min(summed_at_once, part.end - at);
    tree_sum(posts, 0, posts.size(), at, count, sum);
    use(at, count, sum);
  }
}

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<ThreadGroup> group, int rank)
      : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_->size; }

  // Each rank sums its part of all buffers and writes the sum directly to all buffers.
  Request all_reduce(std::span<const float> from, std::span<float> to) override {
    const Part part = my_part(from.size());
    return meet(Collective::all_reduce, from.size_bytes(), post(from, to),
                [part](const std::vector<Post>& posts) {
                  sum_part(posts, part, [&](int64_t at, int64_t count, const float* sum) {
                    for (const Post& p : posts)
                      std::copy_n(sum, count, reinterpret_cast<float*>(p.to) + at);
                  });
                });
  }

  Request reduce(std::span<const float> from, std::span<float> to, int root) override {
    const Part part = my_part(from.size());
    return meet(Collective::reduce, from.size_bytes(), post(from, to),
                [part, root](const std::vector<Post>& posts) {
                  float* all = reinterpret_cast<float*>(posts[static_cast<size_t>(root)].to);
                  sum_part(posts, part, [&](int64_t at, int64_t count, const float* sum) {
                    std::copy_n(sum, count, all + at);
                  });
                });
  }

  Request reduce_scatter(std::span<const float> from, std::span<float> to,
                         std::span<const int64_t> counts) override {
    const int64_t begin = offset(counts);
    const Part part{begin, begin + counts[static_cast<size_t>(rank_)]};
    return meet(Collective::reduce_scatter, from.size_bytes(), post(from, to),
                [part, to](const std::vector<Post>& posts) {
                  sum_part(posts, part, [&](int64_t at, int64_t count, const float* sum) {
                    std::copy_n(sum, count, to.data() + (at - part.begin));
                  });
                });
  }

  Request broadcast(Bytes data, int root) override {
    return meet(Collective::broadcast, data.size(), {data.data(), data.data()},
                [data, root, me = rank_](const std::vector<Post>& posts) {
                  if (me != root && !data.empty())
                    std::memcpy(data.data(), posts[static_cast<size_t>(root)].from, data.size());
                });
  }

  Request gather(ConstBytes mine, Bytes all, std::span<const int64_t> counts, int root) override {
    return meet(Collective::gather, mine.size(), {mine.data(), all.data()},
                [mine, at = offset(counts), root](const std::vector<Post>& posts) {
                  std::byte* to = posts[static_cast<size_t>(root)].to + at;
                  if (!mine.empty() && to != mine.data()) std::memcpy(to, mine.data(), mine.size());
                });
  }

  Request scatter(ConstBytes all, Bytes mine, std::span<const int64_t> counts, int root) override {
    return meet(Collective::scatter, mine.size(), {all.data(), mine.data()},
                [mine, at = offset(counts), root](const std::vector<Post>& posts) {
                  const std::byte* from = posts[static_cast<size_t>(root)].from + at;
                  if (!mine.empty() && from != mine.data())
                    std::memcpy(mine.data(), from, mine.size());
                });
  }

  Request all_gather(ConstBytes mine, Bytes all, std::span<const int64_t> counts) override {
    return meet(Collective::all_gather, all.size(), {mine.data(), all.data()},
                [mine, at = offset(counts)](const std::vector<Post>& posts) {
                  for (const Post& post : posts)
                    if (!mine.empty() && post.to + at != mine.data())
                      std::memcpy(post.to + at, mine.data(), mine.size());
                });
  }

  Request barrier() override {
    return meet(Collective::barrier, 0, {}, [](const std::vector<Post>&) {});
  }

  // Nothing is on its way: receivers copy from the sender's memory.
  size_t in_flight(int) const override { return std::numeric_limits<size_t>::max(); }
  Request send(ConstBytes data, int to, int tag) override {
    return {std::make_unique<SendOperation>(*group_, data, rank_, to, tag),
            {"send", data.size(), rank_},
            group_->timeout};
  }
  Request receive(Bytes data, int from, int tag) override {
    return receive_segment(data, from, tag, data.size());
  }
  Request receive_segment(Bytes data, int from, int tag, size_t whole) override {
    return {std::make_unique<ReceiveOperation>(*group_, data, whole, rank_, from, tag, nullptr),
            {"receive", data.size(), rank_},
            group_->timeout};
  }
  Request receive_any(Bytes data, int tag, int& from) override {
    return {
        std::make_unique<ReceiveOperation>(*group_, data, data.size(), rank_, anyone, tag, &from),
        {"receive", data.size(), rank_},
        group_->timeout};
  }

  std::unique_ptr<Communicator> split(int color, int key) override {
    struct Place {
      int color, key, rank;
    };
    std::vector<Place> places = gather_all(*this, Place{color, key, rank_});
    std::erase_if(places, [color](const Place& p) { return p.color != color; });
    std::stable_sort(places.begin(), places.end(),
                     [](const Place& a, const Place& b) { return a.key < b.key; });
    const auto me = std::find_if(places.begin(), places.end(),
                                 [this](const Place& p) { return p.rank == rank_; });
    return std::make_unique<ThreadCommunicator>(
        group_->subgroup(meetings_++, color, static_cast<int>(places.size())),
        static_cast<int>(me - places.begin()));
  }

  void abort(const std::string&, int) override { group_->failed->store(true); }
  void read_file(const std::string& path, int64_t from, Bytes into) override {
    read_file_part(path, from, into);
  }
  std::string backend() const override { return "threads"; }
  std::string host() const override { return host_name(); }

 private:
  static Post post(std::span<const float> from, std::span<float> to) {
    return {reinterpret_cast<const std::byte*>(from.data()),
            reinterpret_cast<std::byte*>(to.data())};
  }
  Part my_part(size_t count) const {
    return part_of(static_cast<int64_t>(count), group_->size, rank_);
  }
  int64_t offset(std::span<const int64_t> counts) const {
    return std::accumulate(counts.begin(), counts.begin() + rank_, int64_t{0});
  }
  Request meet(Collective name, size_t bytes, Post post, Share share) {
    return {std::make_unique<MeetingOperation>(*group_, group_->meeting(meetings_++), rank_, name,
                                               bytes, post, std::move(share)),
            {to_text(name), bytes, rank_},
            group_->timeout};
  }

  std::shared_ptr<ThreadGroup> group_;
  int rank_;
  uint64_t meetings_ = 0;  // so far; equal numbers on all ranks identify the same meeting
};

}  // namespace

std::unique_ptr<Communicator> make_thread_rank(std::shared_ptr<ThreadGroup> group, int rank) {
  return std::make_unique<ThreadCommunicator>(std::move(group), rank);
}

void run_thread_ranks(int size, double timeout,
                      const std::function<void(Communicator&)>& rank_main) {
  if (size == 1) {
    rank_main(*make_self_communicator());
    return;
  }
  const auto failed = std::make_shared<std::atomic<bool>>(false);
  const auto group = std::make_shared<ThreadGroup>(size, timeout, patience_of(size), failed);
  std::mutex mutex;
  std::exception_ptr first;
  const auto fail = [&](const std::exception_ptr& error) {
    const std::lock_guard lock(mutex);
    if (!first) first = error;
    failed->store(true);
  };
  const auto run = [&](int rank) {
    try {
      ThreadCommunicator ranks(group, rank);
      rank_main(ranks);
    } catch (...) {
      fail(std::current_exception());
    }
  };
  std::vector<std::thread> threads;
  std::exception_ptr not_started;  // cause of all errors that follow
  try {
    for (int rank = 1; rank < size; ++rank) threads.emplace_back(run, rank);
  } catch (const std::system_error& refused) {
    not_started = std::make_exception_ptr(
        too_many_threads(size, static_cast<int64_t>(threads.size()) + 1, refused));
  } catch (...) {
    not_started = std::current_exception();
  }
  if (not_started)
    fail(not_started);
  else
    run(0);
  for (std::thread& thread : threads) thread.join();
  if (not_started) std::rethrow_exception(not_started);
  if (first) std::rethrow_exception(first);
}

}  // namespace lockstep
