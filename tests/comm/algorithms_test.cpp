// Messages and bytes that each algorithm sends, as stated in its header and in docs/parallel.md.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "comm/algorithms/all_reduce.h"
#include "comm/algorithms/broadcast.h"
#include "comm/algorithms/reduce.h"
#include "comm/algorithms/rounded.h"
#include "comm/algorithms/swap.h"
#include "comm/backend/threads.h"

namespace lockstep {
namespace {

// Counts messages. Pretends that ranks are on nodes of `per_node` ranks each.
class CountingChannel final : public Channel {
 public:
  explicit CountingChannel(Channel& channel, int per_node = 1000)
      : channel_(channel), per_node_(per_node) {}
  int rank() const override { return channel_.rank(); }
  int size() const override { return channel_.size(); }
  int node_of(int r) const override { return r / per_node_; }
  Request send(ConstBytes data, int to, int tag) override {
    ++messages;
    bytes += static_cast<int64_t>(data.size());
    largest = std::max(largest, data.size());
    if (node_of(to) != node_of(rank())) bytes_to_other_nodes += static_cast<int64_t>(data.size());
    return channel_.send(data, to, tag);
  }
  Request receive(Bytes data, int from, int tag) override {
    return channel_.receive(data, from, tag);
  }
  int64_t messages = 0, bytes = 0, bytes_to_other_nodes = 0;
  size_t largest = 0;  // message, in bytes

 private:
  Channel& channel_;
  int per_node_;
};

void finish(Task& task) {
  while (!task.advance()) std::this_thread::yield();
}

using Algorithm = Task (*)(Channel&, std::span<float>, int);

// Runs the algorithm on every rank, checks the sum, and then what the rank has sent.
template <typename Check>
void expect_sum(int size, int per_node, int64_t floats, Algorithm algorithm, const Check& check) {
  run_thread_ranks(size, 60, [&](Communicator& ranks) {
    CountingChannel counting(ranks, per_node);
    std::vector<float> data(static_cast<size_t>(floats));
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<float>(i % 1000) + static_cast<float>(ranks.rank());
    Task task = algorithm(counting, data, -5);
    finish(task);
    for (size_t i = 0; i < data.size(); ++i)
      ASSERT_EQ(data[i], static_cast<float>(size) * static_cast<float>(i % 1000) +
                             static_cast<float>(size * (size - 1) / 2));
    check(counting);
  });
}

constexpr int64_t few = 840;  // floats; divisible by all sizes used

void expect_sends(int size, Algorithm algorithm, int64_t steps) {
  expect_sum(size, 1000, few, algorithm, [&](const CountingChannel& sent) {
    EXPECT_EQ(sent.messages, steps);
    EXPECT_EQ(sent.bytes, 2 * few * (size - 1) / size * int64_t{sizeof(float)});
  });
}

TEST(Ring, SendsTwiceTheDataInTwoStepsPerPeer) {
  for (const int size : {2, 3, 4, 7, 8}) expect_sends(size, all_reduce_by_ring, 2 * (size - 1));
}

TEST(Halving, SendsTwiceTheDataInLogarithmicSteps) {
  expect_sends(2, all_reduce_by_halving, 2);
  expect_sends(4, all_reduce_by_halving, 4);
  expect_sends(8, all_reduce_by_halving, 6);
}

TEST(Doubling, TakesHalfTheStepsOfHalving) {
  for (const auto& [size, steps] : {std::pair(2, 1), {4, 2}, {8, 3}})
    expect_sum(size, 1000, few, all_reduce_by_doubling,
               [&, expected = steps](const CountingChannel& sent) {
                 EXPECT_EQ(sent.messages, expected);
                 EXPECT_EQ(sent.bytes, expected * few * int64_t{sizeof(float)});
               });
}

TEST(Doubling, TakesTwoMoreStepsIfTheNumberOfRanksIsNoPowerOfTwo) {
  for (const auto& [size, most] : {std::pair(3, 2), {5, 3}, {6, 3}, {7, 3}, {12, 4}})
    expect_sum(size, 1000, few, all_reduce_by_doubling,
               [limit = most](const CountingChannel& sent) { EXPECT_LE(sent.messages, limit); });
}

// A rank that is ahead would otherwise fill the link of a peer that still exchanges data with
// others.
TEST(Halving, ARankAheadSendsTwoShortSegmentsToAnotherNode) {
  for (const int per_node : {1, 2}) {
    run_thread_ranks(2, 60, [&](Communicator& ranks) {
      CountingChannel counting(ranks, per_node);
      std::vector<float> data(1'000'000, 1.0f);
      if (ranks.rank() == 0) {
        Task task = all_reduce_by_halving(counting, data, -5);
        for (int i = 0; i < 10; ++i) EXPECT_FALSE(task.advance());
        const auto early =
            per_node == 1 ? leading_segments * leading_segment : data.size() / 2 * sizeof(float);
        EXPECT_EQ(counting.bytes, static_cast<int64_t>(early));
        ranks.barrier().wait();
        finish(task);
      } else {
        ranks.barrier().wait();
        Task task = all_reduce_by_halving(counting, data, -5);
        finish(task);
      }
      EXPECT_EQ(counting.bytes, static_cast<int64_t>(data.size() * sizeof(float)));
      for (const float value : data) ASSERT_EQ(value, 2.0f);
    });
  }
}

TEST(ByNode, OnlyTheDataOfOneRankPerNodeLeaveANode) {
  for (const auto& [nodes, per_node] : {std::pair(2, 3), {3, 2}, {3, 4}, {5, 2}, {4, 3}}) {
    std::atomic<int64_t> of_all = 0;
    expect_sum(nodes * per_node, per_node, 120'000, all_reduce_by_node,
               [&](const CountingChannel& sent) { of_all += sent.bytes_to_other_nodes; });
    EXPECT_EQ(of_all, 2 * int64_t{nodes - 1} * 120'000 * int64_t{sizeof(float)});
  }
}

// 0.1 has no exact form in 16 bits; the last two values must be exact.
TEST(RoundedAllReduce, HalvesTheBytesBetweenNodesAndGivesTheSameBitsOnAllRanks) {
  const size_t exact = 2;
  for (const auto& [size, per_node] : {std::pair(2, 1), {3, 1}, {4, 1}, {4, 2}, {6, 3}, {8, 1}})
    for (const size_t floats : {exact, size_t{100}, size_t{6'000}, size_t{120'000}})
      for (const Compression compression : {Compression::bf16, Compression::fp16}) {
        std::vector<std::vector<float>> results(static_cast<size_t>(size));
        std::atomic<int64_t> compressed = 0, plain = 0;
        run_thread_ranks(size, 60, [&, ranks_per_node = per_node](Communicator& ranks) {
          CountingChannel counting(ranks, ranks_per_node), as_it_is(ranks, ranks_per_node);
          std::vector<float> data(floats + exact, 0.1f * static_cast<float>(ranks.rank() + 1));
          std::fill_n(data.end() - exact, exact, 10'001.0f);
          Task task = all_reduce_rounded_by_messages(counting, data, compression, exact, -5);
          finish(task);
          results[static_cast<size_t>(ranks.rank())] = data;
          data.resize(floats);
          Task other = all_reduce_by_messages(as_it_is, data, -6);
          finish(other);
          compressed += counting.bytes_to_other_nodes;
          plain += as_it_is.bytes_to_other_nodes;
        });
        const auto ranks = static_cast<float>(size);
        const float sum = 0.1f * ranks * (ranks + 1) / 2;
        for (const std::vector<float>& result : results) {
          ASSERT_EQ(result, results[0]);
          ASSERT_NEAR(result[floats / 2], sum,
                      sum * (compression == Compression::bf16 ? 0.01 : 1e-3));
          ASSERT_EQ(result.back(), 10'001.0f * ranks);
        }
        const int64_t of_tail = 2 * 64 * size;  // at most, of 8 bytes
        EXPECT_GE(compressed, plain / 2);
        EXPECT_LE(compressed, plain / 2 + of_tail);
      }
}

TEST(AllReduce, IsChosenByRanksNodesAndSize) {
  EXPECT_EQ(all_reduce_way(8, 1, 16), AllReduceWay::doubling);
  EXPECT_EQ(all_reduce_way(7, 1, largest_doubled), AllReduceWay::doubling);
  EXPECT_EQ(all_reduce_way(256, 16, largest_doubled), AllReduceWay::halving);
  EXPECT_EQ(all_reduce_way(2, 2, largest_doubled_in_node), AllReduceWay::doubling);
  EXPECT_EQ(all_reduce_way(2, 2, largest_doubled), AllReduceWay::halving);
  EXPECT_EQ(all_reduce_way(8, 1, 1 << 20), AllReduceWay::halving);
  EXPECT_EQ(all_reduce_way(8, 2, 1 << 20), AllReduceWay::halving);
  EXPECT_EQ(all_reduce_way(7, 1, 1 << 20), AllReduceWay::ring);
  EXPECT_EQ(all_reduce_way(6, 6, 1 << 20), AllReduceWay::ring);
  EXPECT_EQ(all_reduce_way(6, 2, 1 << 20), AllReduceWay::by_node);
  EXPECT_EQ(all_reduce_way(6, 0, 1 << 20), AllReduceWay::ring);
}

TEST(AllReduce, SumsOnEveryLayoutOfNodes) {
  for (const auto& [size, per_node] : {std::pair(2, 1), {4, 2}, {5, 1}, {6, 2}, {6, 4}, {7, 3}})
    for (const int64_t floats : {0, 1, 5, 1000, 100'003})
      expect_sum(size, per_node, floats, all_reduce_by_messages, [](const CountingChannel&) {});
}

TEST(AllReduce, KnowsTheNumberOfRanksPerNode) {
  run_thread_ranks(6, 60, [](Communicator& ranks) {
    for (const auto& [per_node, expected] : {std::pair(1, 1), {2, 2}, {3, 3}, {4, 0}, {6, 6}})
      EXPECT_EQ(CountingChannel(ranks, per_node).ranks_per_node(), expected);
  });
}

TEST(Swap, SendsSegmentsAndAddsOrReplaces) {
  constexpr size_t floats = 3 * swap_segment / sizeof(float) + 3;
  for (const bool adds : {true, false})
    run_thread_ranks(2, 60, [&](Communicator& ranks) {
      CountingChannel counting(ranks);
      const std::vector<float> mine(floats, static_cast<float>(1 + ranks.rank()));
      std::vector<float> data(floats, 10);
      const SegmentBuffer buffer(floats);
      const int peer = 1 - ranks.rank();
      Task task = adds ? swap_and_add(counting, mine, peer, data, peer, buffer, 3)
                       : swap(counting, mine, peer, data, peer, 3);
      finish(task);
      const float expected = static_cast<float>(1 + peer) + (adds ? 10 : 0);
      for (const float value : data) ASSERT_EQ(value, expected);
      EXPECT_EQ(counting.messages, 4);
      EXPECT_EQ(counting.largest, swap_segment);
    });
}

TEST(Swap, SendsInOneDirectionOnly) {
  run_thread_ranks(2, 60, [](Communicator& ranks) {
    CountingChannel counting(ranks);
    std::vector<float> data(swap_segment, static_cast<float>(ranks.rank()));
    const std::span<float> none;
    const bool sends = ranks.rank() == 1;
    Task task = swap(counting, sends ? data : none, 1 - ranks.rank(), sends ? none : data,
                     1 - ranks.rank(), 3);
    finish(task);
    EXPECT_EQ(counting.messages, sends ? 4 : 0);
    EXPECT_EQ(data.back(), 1);
  });
}

TEST(Task, WaitsForOtherTasks) {
  run_thread_ranks(2, 60, [](Communicator& ranks) {
    const auto one = [](Channel& channel, int* value, int tag) -> Task {
      const int mine = *value + channel.rank();
      Request sent = channel.send(std::as_bytes(std::span(&mine, 1)), 1 - channel.rank(), tag);
      co_await channel.receive(std::as_writable_bytes(std::span(value, 1)), 1 - channel.rank(),
                               tag);
      co_await std::move(sent);
    };
    const auto both = [&](Channel& channel, int* value) -> Task {
      co_await one(channel, value, 1);
      co_await one(channel, value, 2);
    };
    int value = 5;
    Task task = both(ranks, &value);
    finish(task);
    EXPECT_TRUE(task.advance());
    EXPECT_EQ(value, 6);  // rank 1 added one and sent it back, or received it and added one
  });
}

TEST(Task, ThrowsWhatATaskThatItWaitsForThrows) {
  const auto fails = []() -> Task {
    throw CommunicationFailure("lost");
    co_return;
  };
  const auto outer = [&]() -> Task { co_await fails(); };
  Task task = outer();
  EXPECT_THROW(task.advance(), CommunicationFailure);
}

TEST(ReduceByMessages, SumsAtTheRootAndSendsAtMostOneAndAHalfArrays) {
  for (const int size : {2, 3, 4, 5, 7, 8})
    for (const int root : {0, size - 1})
      for (const size_t floats : {size_t{0}, size_t{1}, size_t{840}, size_t{300'000}})
        run_thread_ranks(size, 60, [&](Communicator& ranks) {
          CountingChannel counting(ranks);
          std::vector<float> data(floats);
          for (size_t i = 0; i < floats; ++i)
            data[i] = static_cast<float>(i % 100) + static_cast<float>(ranks.rank());
          Task task = reduce_by_messages(counting, data, root, 1);
          finish(task);
          EXPECT_LE(counting.bytes,
                    static_cast<int64_t>((floats + floats / 2 + 8) * sizeof(float)));
          if (ranks.rank() != root) return;
          const float ranks_sum = static_cast<float>(size * (size - 1) / 2);
          for (size_t i = 0; i < floats; ++i)
            ASSERT_EQ(data[i], static_cast<float>(i % 100) * static_cast<float>(size) + ranks_sum);
        });
}

TEST(ReduceByMessages, ForwardsLargeArraysAlongAChain) {
  EXPECT_EQ(reduce_way(8, 1 << 20), ReduceWay::halving);
  EXPECT_EQ(reduce_way(3, 4 * chain_segment), ReduceWay::chain);
  EXPECT_EQ(reduce_way(3, 100), ReduceWay::tree);
  EXPECT_EQ(reduce_way(100, 2 * chain_segment), ReduceWay::tree);
}

TEST(Broadcast, GivesEveryRankTheRootsBytes) {
  const auto expect_way = [](int size, size_t bytes, BroadcastWay way) {
    EXPECT_EQ(broadcast_way(size, bytes), way) << size << " ranks, " << bytes << " bytes";
    for (const int root : {0, size - 1})
      run_thread_ranks(size, 60, [&](Communicator& ranks) {
        CountingChannel counting(ranks);
        std::vector<std::byte> data(bytes);
        for (size_t i = 0; i < bytes; ++i)
          data[i] = static_cast<std::byte>(ranks.rank() == root ? i * 31 % 251 : 0);
        Task task = broadcast_by_messages(counting, data, root, -5);
        finish(task);
        for (size_t i = 0; i < bytes; ++i)
          ASSERT_EQ(data[i], static_cast<std::byte>(i * 31 % 251)) << "byte " << i;
        if (way != BroadcastWay::binomial) {
          EXPECT_LE(counting.bytes, static_cast<int64_t>(2 * bytes));
        }
      });
  };
  for (const int size : {2, 3, 7, 8}) expect_way(size, 1000, BroadcastWay::binomial);
  for (const size_t bytes : {size_t{0}, 2 * broadcast_segment})
    expect_way(2, bytes, BroadcastWay::binomial);
  for (const int size : {3, 4}) expect_way(size, 20 * broadcast_segment + 5, BroadcastWay::chain);
  for (const int size : {10, 11, 16}) expect_way(size, 2 * broadcast_segment, BroadcastWay::binary);
}

}  // namespace
}  // namespace lockstep
