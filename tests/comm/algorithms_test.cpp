// Messages and bytes that each algorithm sends, as stated in its header and in docs/parallel.md.
#include <gtest/gtest.h>

#include <numeric>

#include "comm/algorithms/all_reduce.h"
#include "comm/algorithms/broadcast.h"
#include "comm/backend/threads.h"

namespace lockstep {
namespace {

class CountingChannel final : public Channel {
 public:
  explicit CountingChannel(Channel& channel) : channel_(channel) {}
  int rank() const override { return channel_.rank(); }
  int size() const override { return channel_.size(); }
  Request send(ConstBytes data, int to, int tag) override {
    ++messages;
    bytes += static_cast<int64_t>(data.size());
    return channel_.send(data, to, tag);
  }
  Request receive(Bytes data, int from, int tag) override {
    return channel_.receive(data, from, tag);
  }
  int64_t messages = 0, bytes = 0;

 private:
  Channel& channel_;
};

using Algorithm = Task (*)(Channel&, std::span<float>, int);

// Runs the algorithm on every rank and checks the sum, the steps and the bytes.
void expect_sends(int size, Algorithm algorithm, int64_t steps) {
  constexpr int64_t floats = 840;  // divisible by all sizes used
  run_thread_ranks(size, 60, [&](Communicator& ranks) {
    CountingChannel counting(ranks);
    std::vector<float> data(floats);
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<float>(i) + static_cast<float>(ranks.rank());
    Task task = algorithm(counting, data, -5);
    while (!task.advance()) std::this_thread::yield();
    for (size_t i = 0; i < data.size(); ++i)
      ASSERT_EQ(data[i], static_cast<float>(size) * static_cast<float>(i) +
                             static_cast<float>(size * (size - 1) / 2));
    EXPECT_EQ(counting.messages, steps);
    EXPECT_EQ(counting.bytes, 2 * floats * (size - 1) / size * int64_t{sizeof(float)});
  });
}

TEST(Ring, SendsTwiceTheDataInTwoStepsPerPeer) {
  for (const int size : {2, 3, 4, 7, 8}) expect_sends(size, all_reduce_by_ring, 2 * (size - 1));
}

TEST(HalvingDoubling, SendsTwiceTheDataInLogarithmicSteps) {
  expect_sends(2, all_reduce_by_halving_doubling, 2);
  expect_sends(4, all_reduce_by_halving_doubling, 4);
  expect_sends(8, all_reduce_by_halving_doubling, 6);
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
          while (!task.advance()) {
          }
          EXPECT_LE(counting.bytes,
                    static_cast<int64_t>((floats + floats / 2 + 8) * sizeof(float)));
          if (ranks.rank() != root) return;
          const float ranks_sum = static_cast<float>(size * (size - 1) / 2);
          for (size_t i = 0; i < floats; ++i)
            ASSERT_EQ(data[i], static_cast<float>(i % 100) * static_cast<float>(size) + ranks_sum);
        });
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
        while (!task.advance()) std::this_thread::yield();
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
