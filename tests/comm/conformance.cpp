#include "comm/conformance.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace lockstep {
namespace {

void expect(bool holds, const Communicator& ranks, const std::string& what) {
  if (!holds)
    throw std::logic_error(
        fmt::format("rank {} of {}: {} is wrong", ranks.rank(), ranks.size(), what));
}

// Whole numbers, so that sums are exact in any order.
float value_of(int rank, size_t i) { return static_cast<float>((rank + 1) * (1 + i % 97)); }

std::vector<float> values_of(int rank, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = value_of(rank, i);
  return values;
}

std::vector<float> sum_of(int size, size_t count) {
  std::vector<float> sum(count, 0);
  for (int r = 0; r < size; ++r)
    for (size_t i = 0; i < count; ++i) sum[i] += value_of(r, i);
  return sum;
}

void check_sums(Communicator& ranks, size_t count) {
  const std::vector<float> sum = sum_of(ranks.size(), count);
  const std::string length = fmt::format(" of {} floats", count);
  std::vector<float> data = values_of(ranks.rank(), count), apart(count, -1);
  ranks.all_reduce(data, apart).wait();
  expect(apart == sum, ranks, "all-reduce" + length);
  expect(data == values_of(ranks.rank(), count), ranks, "what all-reduce was given" + length);
  ranks.all_reduce(data, data).wait();
  expect(data == sum, ranks, "all-reduce in place" + length);

  for (const int root : {0, ranks.size() - 1}) {
    data = values_of(ranks.rank(), count);
    std::fill(apart.begin(), apart.end(), -1.0f);
    ranks.reduce(data, apart, root).wait();
    if (ranks.rank() == root) expect(apart == sum, ranks, "reduce" + length);
    ranks.reduce(data, data, root).wait();
    if (ranks.rank() == root) expect(data == sum, ranks, "reduce in place" + length);
  }

  data = values_of(ranks.rank(), count);
  const Part part = part_of(static_cast<int64_t>(count), ranks.size(), ranks.rank());
  std::vector<float> mine(static_cast<size_t>(part.size()), -1);
  ranks.reduce_scatter(data, mine).wait();
  expect(std::equal(mine.begin(), mine.end(), sum.begin() + part.begin), ranks,
         "reduce-scatter" + length);
}

void check_copies(Communicator& ranks, size_t count) {
  const std::string length = fmt::format(" of {} floats", count);
  const int size = ranks.size(), rank = ranks.rank();
  for (const int root : {0, size - 1}) {
    std::vector<float> data = values_of(rank, count);
    ranks.broadcast(bytes_of(std::span(data)), root).wait();
    expect(data == values_of(root, count), ranks, "broadcast" + length);

    // Uneven pieces: rank r has count + r of them.
    std::vector<int64_t> counts;
    std::vector<float> all;
    for (int r = 0; r < size; ++r) {
      const std::vector<float> piece = values_of(r, count + static_cast<size_t>(r));
      counts.push_back(static_cast<int64_t>(piece.size() * sizeof(float)));
      all.insert(all.end(), piece.begin(), piece.end());
    }
    std::vector<float> mine = values_of(rank, count + static_cast<size_t>(rank));
    std::vector<float> gathered(all.size(), -1);
    ranks.gather(std::as_bytes(std::span(mine)), bytes_of(std::span(gathered)), counts, root)
        .wait();
    if (rank == root) expect(gathered == all, ranks, "gather" + length);
    std::fill(mine.begin(), mine.end(), -1.0f);
    ranks.scatter(std::as_bytes(std::span(all)), bytes_of(std::span(mine)), counts, root).wait();
    expect(mine == values_of(rank, mine.size()), ranks, "scatter" + length);
    std::fill(gathered.begin(), gathered.end(), -1.0f);
    ranks.all_gather(std::as_bytes(std::span(mine)), bytes_of(std::span(gathered)), counts).wait();
    expect(gathered == all, ranks, "all-gather" + length);
  }
}

// The sum of numbers that round: the same bits everywhere, and neighbours first.
void check_rounding(Communicator& ranks) {
  const auto number = [](int rank, size_t i) {
    return 1.0f / static_cast<float>(3 + rank * 7 + static_cast<int>(i));
  };
  std::vector<float> data(1001);
  for (size_t i = 0; i < data.size(); ++i) data[i] = number(ranks.rank(), i);
  ranks.all_reduce(data, data).wait();
  std::vector<float> first = data;
  ranks.broadcast(bytes_of(std::span(first)), 0).wait();
  expect(first == data, ranks, "that all ranks hold the same bits after all-reduce");
  if (!std::has_single_bit(static_cast<unsigned>(ranks.size()))) return;
  for (size_t i = 0; i < data.size(); ++i) {
    std::vector<float> level;
    for (int r = 0; r < ranks.size(); ++r) level.push_back(number(r, i));
    while (level.size() > 1) {
      std::vector<float> next;
      for (size_t k = 0; k < level.size(); k += 2) next.push_back(level[k] + level[k + 1]);
      level = next;
    }
    expect(level[0] == data[i], ranks, "the order of the sum");
  }
}

void check_messages(Communicator& ranks) {
  const int size = ranks.size(), rank = ranks.rank();
  if (size == 1) return;
  for (const size_t count : {size_t{0}, size_t{1}, size_t{100'003}}) {
    const std::vector<float> out = values_of(rank, count);
    std::vector<float> in(count, -1);
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    Request sent = ranks.send(std::as_bytes(std::span(out)), next, 7);
    ranks.receive(bytes_of(std::span(in)), previous, 7).wait();
    sent.wait();
    expect(in == values_of(previous, count), ranks, "a message round the ring");
  }
  // Two tags, received against the order they were sent in.
  if (rank == 0) {
    const int first = 1, second = 2;
    Request a = ranks.send(std::as_bytes(std::span(&first, 1)), 1, 1);
    Request b = ranks.send(std::as_bytes(std::span(&second, 1)), 1, 2);
    a.wait();
    b.wait();
  } else if (rank == 1) {
    int first = 0, second = 0;
    Request b = ranks.receive(bytes_of(std::span(&second, 1)), 0, 2);
    Request a = ranks.receive(bytes_of(std::span(&first, 1)), 0, 1);
    b.wait();
    a.wait();
    expect(first == 1 && second == 2, ranks, "the tag of a message");
  }
  // From whoever is first.
  if (rank == 0) {
    int sum = 0;
    for (int i = 1; i < size; ++i) {
      int value = 0, from = -1;
      ranks.receive_any(bytes_of(std::span(&value, 1)), 3, from).wait();
      expect(value == 10 * from, ranks, "the sender of a message");
      sum += from;
    }
    expect(sum == size * (size - 1) / 2, ranks, "that every sender is heard once");
  } else {
    const int value = 10 * rank;
    ranks.send(std::as_bytes(std::span(&value, 1)), 0, 3).wait();
  }
}

// Several under way at once, finished in another order.
void check_overlap(Communicator& ranks) {
  std::vector<std::vector<float>> data;
  std::vector<Request> requests;
  for (size_t k = 0; k < 5; ++k) {
    data.push_back(values_of(ranks.rank(), 1000 + k));
    requests.push_back(ranks.all_reduce(data.back(), data.back()));
    for (Request& request : requests) request.test();
  }
  for (size_t k = 5; k-- > 0;) requests[k].wait();
  for (size_t k = 0; k < 5; ++k)
    expect(data[k] == sum_of(ranks.size(), 1000 + k), ranks, "all-reduces that overlap");
}

void check_split(Communicator& ranks) {
  const int color = ranks.rank() % 2;
  const std::unique_ptr<Communicator> half = ranks.split(color, -ranks.rank());
  const int members = (ranks.size() + 1 - color) / 2;
  expect(half->size() == members, ranks, "the size of a split group");
  // Keys run backwards, so ranks do.
  expect(half->rank() == members - 1 - ranks.rank() / 2, ranks, "the order of a split group");
  float sum = static_cast<float>(ranks.rank()), expected = 0;
  half->all_reduce(std::span(&sum, 1), std::span(&sum, 1)).wait();
  for (int r = color; r < ranks.size(); r += 2) expected += static_cast<float>(r);
  expect(sum == expected, ranks, "the sum over a split group");
}

}  // namespace

void check_conformance(Communicator& ranks) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{13}, size_t{1000},
                             size_t{65'537}, size_t{690'590}}) {
    check_sums(ranks, count);
    check_copies(ranks, count);
    ranks.barrier().wait();
  }
  check_rounding(ranks);
  check_messages(ranks);
  check_overlap(ranks);
  check_split(ranks);
  const std::vector<std::string> texts =
      gather_texts(ranks, std::string(static_cast<size_t>(ranks.rank()), 'x'));
  for (int r = 0; r < ranks.size(); ++r)
    expect(texts[static_cast<size_t>(r)].size() == static_cast<size_t>(r), ranks, "gather_texts");
}

}  // namespace lockstep
