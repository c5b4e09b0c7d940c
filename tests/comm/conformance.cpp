#include "comm/conformance.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
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
  expect(data == values_of(ranks.rank(), count), ranks, "the input of all-reduce" + length);
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
  ranks.reduce_scatter(data, mine, equal_counts(static_cast<int64_t>(count), ranks.size())).wait();
  expect(std::equal(mine.begin(), mine.end(), sum.begin() + part.begin), ranks,
         "reduce-scatter" + length);
}

// The last value is not rounded.
void check_compressed(Communicator& ranks, size_t count) {
  for (const Compression compression : {Compression::bf16, Compression::fp16}) {
    std::vector<float> data(count, 0.1f);
    data.back() = 10'001.0f;
    ranks.all_reduce_rounded(data, compression, 1).wait();
    const auto size = static_cast<float>(ranks.size());
    expect(data.back() == 10'001.0f * size, ranks, "the exact part of a compressed all-reduce");
    for (size_t i = 0; i + 1 < count; ++i)
      expect(std::abs(data[i] - 0.1f * size) < 0.001f * size, ranks, "compressed all-reduce");
    for (const float first : gather_all(ranks, data[0]))
      expect(first == data[0], ranks, "compressed all-reduce on another rank");
    std::vector<float> sum(count, 0.1f);
    sum.back() = 10'001.0f;
    ranks.reduce_rounded(sum, 0, compression, 1).wait();
    if (ranks.rank() != 0) continue;
    expect(sum.back() == 10'001.0f * size, ranks, "the exact part of a compressed reduce");
    for (size_t i = 0; i + 1 < count; ++i)
      expect(std::abs(sum[i] - 0.1f * size) < 0.001f * size, ranks, "compressed reduce");
  }
}

// With values that round, so that the order of additions matters.
void check_reduce_scatter_and_all_gather(Communicator& ranks, size_t count,
                                         const std::vector<int64_t>& counts) {
  std::vector<float> data(count), together(count), sum(count);
  for (size_t i = 0; i < count; ++i)
    data[i] = 1.0f / static_cast<float>(3 + i % 101 + 7 * static_cast<size_t>(ranks.rank()));
  ranks.all_reduce(data, sum).wait();
  const auto rank = static_cast<size_t>(ranks.rank());
  size_t begin = 0;
  std::vector<int64_t> bytes;
  for (size_t r = 0; r < counts.size(); ++r) {
    if (r < rank) begin += static_cast<size_t>(counts[r]);
    bytes.push_back(counts[r] * static_cast<int64_t>(sizeof(float)));
  }
  // In place: the sum replaces this rank's part of its own data.
  const std::span<float> mine = std::span(data).subspan(begin, static_cast<size_t>(counts[rank]));
  ranks.reduce_scatter(data, mine, counts).wait();
  std::ranges::copy(mine, together.begin() + static_cast<std::ptrdiff_t>(begin));
  ranks
      .all_gather(std::as_bytes(std::span(together).subspan(begin, mine.size())),
                  std::as_writable_bytes(std::span(together)), bytes)
      .wait();
  const std::string what = fmt::format("reduce-scatter and all-gather of {} floats", count);
  if (std::has_single_bit(static_cast<unsigned>(ranks.size())))
    expect(together == sum, ranks, what + " against all-reduce, to the bit");
  else
    for (size_t i = 0; i < count; ++i)
      expect(std::abs(together[i] - sum[i]) <= 1e-5f * std::abs(sum[i]), ranks, what);
}

void check_copies(Communicator& ranks, size_t count) {
  const std::string length = fmt::format(" of {} floats", count);
  const int size = ranks.size(), rank = ranks.rank();
  for (const int root : {0, size - 1}) {
    std::vector<float> data = values_of(rank, count);
    ranks.broadcast(std::as_writable_bytes(std::span(data)), root).wait();
    expect(data == values_of(root, count), ranks, "broadcast" + length);

    // Uneven blocks: rank r's has count + r floats.
    std::vector<int64_t> counts;
    std::vector<float> all;
    for (int r = 0; r < size; ++r) {
      const std::vector<float> segment = values_of(r, count + static_cast<size_t>(r));
      counts.push_back(static_cast<int64_t>(segment.size() * sizeof(float)));
      all.insert(all.end(), segment.begin(), segment.end());
    }
    std::vector<float> mine = values_of(rank, count + static_cast<size_t>(rank));
    std::vector<float> gathered(all.size(), -1);
    ranks
        .gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(gathered)), counts,
                root)
        .wait();
    if (rank == root) expect(gathered == all, ranks, "gather" + length);
    std::fill(mine.begin(), mine.end(), -1.0f);
    ranks
        .scatter(std::as_bytes(std::span(all)), std::as_writable_bytes(std::span(mine)), counts,
                 root)
        .wait();
    expect(mine == values_of(rank, mine.size()), ranks, "scatter" + length);
    std::fill(gathered.begin(), gathered.end(), -1.0f);
    ranks
        .all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(gathered)),
                    counts)
        .wait();
    expect(gathered == all, ranks, "all-gather" + length);
  }
}

// Sums of values that round: bit-identical on all ranks, and neighbours are added first.
void check_rounding(Communicator& ranks) {
  const auto number = [](int rank, size_t i) {
    return 1.0f / static_cast<float>(3 + rank * 7 + static_cast<int>(i));
  };
  std::vector<float> data(1001);
  for (size_t i = 0; i < data.size(); ++i) data[i] = number(ranks.rank(), i);
  ranks.all_reduce(data, data).wait();
  std::vector<float> first = data;
  ranks.broadcast(std::as_writable_bytes(std::span(first)), 0).wait();
  expect(first == data, ranks, "an all-reduce that must be bit-identical on all ranks");
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
    ranks.receive(std::as_writable_bytes(std::span(in)), previous, 7).wait();
    sent.wait();
    expect(in == values_of(previous, count), ranks, "a message around the ring");
  }
  // Two tags, received in reverse order.
  if (rank == 0) {
    const int first = 1, second = 2;
    Request a = ranks.send(std::as_bytes(std::span(&first, 1)), 1, 1);
    Request b = ranks.send(std::as_bytes(std::span(&second, 1)), 1, 2);
    a.wait();
    b.wait();
  } else if (rank == 1) {
    int first = 0, second = 0;
    Request b = ranks.receive(std::as_writable_bytes(std::span(&second, 1)), 0, 2);
    Request a = ranks.receive(std::as_writable_bytes(std::span(&first, 1)), 0, 1);
    b.wait();
    a.wait();
    expect(first == 1 && second == 2, ranks, "the tag of a message");
  }
  // From any rank, in order of arrival.
  if (rank == 0) {
    int sum = 0;
    for (int i = 1; i < size; ++i) {
      int value = 0, from = -1;
      ranks.receive_any(std::as_writable_bytes(std::span(&value, 1)), 3, from).wait();
      expect(value == 10 * from, ranks, "the sender of a message");
      sum += from;
    }
    expect(sum == size * (size - 1) / 2, ranks, "the set of senders");
  } else {
    const int value = 10 * rank;
    ranks.send(std::as_bytes(std::span(&value, 1)), 0, 3).wait();
  }
}

// Several operations in flight, completed in reverse order.
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
    expect(data[k] == sum_of(ranks.size(), 1000 + k), ranks,
           "one of several overlapping all-reduces");
}

// Counts are valid during the call only, not until the operation completes.
void check_many_under_way(Communicator& ranks) {
  constexpr size_t operations = 100;
  const auto size = static_cast<size_t>(ranks.size());
  const auto number = [](int rank, size_t k) { return static_cast<int64_t>(k) * 100 + rank; };
  std::vector<int64_t> mine(operations), arrived(operations, -1), scattered(operations, -1);
  std::vector<std::vector<int64_t>> gathered(operations), shared(operations), given(operations);
  std::vector<Request> requests, received, sent;
  for (size_t k = 0; k < operations; ++k) {
    mine[k] = number(ranks.rank(), k);
    gathered[k].assign(size, -1);
    shared[k].assign(size, -1);
    for (int r = 0; r < ranks.size(); ++r) given[k].push_back(number(r, k));
  }
  for (size_t k = 0; k < operations; ++k) {
    const std::vector<int64_t> counts(size, sizeof(int64_t));
    const ConstBytes segment = std::as_bytes(std::span(&mine[k], 1));
    const int root = static_cast<int>(k % size);
    requests.push_back(
        ranks.gather(segment, std::as_writable_bytes(std::span(gathered[k])), counts, root));
    requests.push_back(ranks.scatter(std::as_bytes(std::span(given[k])),
                                     std::as_writable_bytes(std::span(&scattered[k], 1)), counts,
                                     root));
    requests.push_back(
        ranks.all_gather(segment, std::as_writable_bytes(std::span(shared[k])), counts));
    if (size == 1) continue;
    const int next = (ranks.rank() + 1) % ranks.size();
    const int previous = (ranks.rank() + ranks.size() - 1) % ranks.size();
    sent.push_back(ranks.send(segment, next, 11));
    received.push_back(
        ranks.receive(std::as_writable_bytes(std::span(&arrived[k], 1)), previous, 11));
  }
  for (size_t k = requests.size(); k-- > 0;) requests[k].wait();
  for (Request& request : received) request.wait();
  for (Request& request : sent) request.wait();
  for (size_t k = 0; k < operations; ++k) {
    if (ranks.rank() == static_cast<int>(k % size))
      expect(gathered[k] == given[k], ranks, "one of many gathers in flight");
    expect(scattered[k] == mine[k], ranks, "one of many scatters in flight");
    expect(shared[k] == given[k], ranks, "one of many all-gathers in flight");
    if (size == 1) continue;
    const int previous = (ranks.rank() + ranks.size() - 1) % ranks.size();
    expect(arrived[k] == number(previous, k), ranks, "one of many messages in flight");
  }
}

void check_split(Communicator& ranks) {
  const int color = ranks.rank() % 2;
  const std::unique_ptr<Communicator> half = ranks.split(color, -ranks.rank());
  const int members = (ranks.size() + 1 - color) / 2;
  expect(half->size() == members, ranks, "the size of a split group");
  // Keys are descending, so the order of ranks is reversed.
  expect(half->rank() == members - 1 - ranks.rank() / 2, ranks, "the order of a split group");
  float sum = static_cast<float>(ranks.rank()), expected = 0;
  half->all_reduce(std::span(&sum, 1), std::span(&sum, 1)).wait();
  for (int r = color; r < ranks.size(); r += 2) expected += static_cast<float>(r);
  expect(sum == expected, ranks, "the sum over a split group");
}

// Memory whose pages are allocated when they are first written.
class SparseMemory {
 public:
  explicit SparseMemory(int64_t bytes) : bytes_(static_cast<size_t>(bytes)) {
    memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED) throw Failure("cannot map {} bytes", bytes);
  }
  ~SparseMemory() { ::munmap(memory_, bytes_); }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  std::span<float> floats(int64_t bytes) const {
    return {static_cast<float*>(memory_), static_cast<size_t>(bytes) / sizeof(float)};
  }
  Bytes bytes(int64_t count) const { return std::as_writable_bytes(floats(count)); }

 private:
  void* memory_;
  size_t bytes_;
};

constexpr int64_t large = (int64_t{1} << 31) + (1 << 20);  // bytes, more than an int can count
constexpr int64_t small = 4096;

// Indices of floats: both ends, and around byte offsets of 2^30 and 2^31.
constexpr std::array<size_t, 8> marked = {0,
                                          (1u << 28) - 1,
                                          1u << 28,
                                          (1u << 28) + 12345,
                                          (1u << 29) - 1,
                                          1u << 29,
                                          (1u << 29) + 777,
                                          large / sizeof(float) - 1};

void mark(std::span<float> data, float base) {
  for (size_t k = 0; k < marked.size(); ++k) data[marked[k]] = base + static_cast<float>(k);
}

// Expects the values of mark() times `times` at marks in [begin, end), and 0 at some places
// between.
void expect_marks(std::span<const float> data, float base, float times, const Communicator& ranks,
                  const std::string& what, size_t begin = 0, size_t end = SIZE_MAX) {
  for (size_t k = 0; k < marked.size(); ++k) {
    const size_t at = marked[k];
    if (at < begin || at >= std::min(end, begin + data.size())) continue;
    expect(data[at - begin] == times * base + times * static_cast<float>(k), ranks,
           fmt::format("{} at float {}", what, at));
  }
  for (const size_t at : {size_t{5000}, size_t{1} << 27, (size_t{1} << 28) + 100}) {
    if (at >= begin && at < std::min(end, begin + data.size()))
      expect(data[at - begin] == 0, ranks, fmt::format("{} at float {}", what, at));
  }
}

void check_large_messages_between_two(Communicator& ranks, const SparseMemory& memory) {
  const Bytes data = memory.bytes(large);
  const std::span<float> floats = memory.floats(large);
  if (ranks.rank() == 0) {
    mark(floats, 10);
    ranks.send(data, 1, 5).wait();
    mark(floats, 20);
    ranks.send(data, 1, 6).wait();
  } else {
    ranks.receive(data, 0, 5).wait();
    expect_marks(floats, 10, 1, ranks, "a large message");
    int from = -1;
    ranks.receive_any(data, 6, from).wait();
    expect(from == 0, ranks, "the sender of a large message");
    expect_marks(floats, 20, 1, ranks, "a large message from any rank");
    mark(floats, 30);
  }
  ranks.broadcast(data, 1).wait();
  expect_marks(floats, 30, 1, ranks, "a large broadcast");
}

// Rank 0's block is large; rank 1's is small and behind it.
void check_large_gathers(Communicator& ranks, const SparseMemory& memory) {
  const std::vector<int64_t> counts = {large, small};
  const Bytes all = memory.bytes(large + small), first = all.first(large), last = all.last(small);
  const std::span<float> floats = memory.floats(large + small);
  const std::span<float> tail = floats.last(small / sizeof(float));
  const bool zero = ranks.rank() == 0;
  const auto set_mine = [&](float value) {
    if (zero)
      mark(floats, value);
    else
      std::fill(tail.begin(), tail.end(), value);
  };
  const auto expect_all = [&](float value, const std::string& what) {
    expect_marks(floats.first(large / sizeof(float)), value, 1, ranks, what);
    expect(tail.front() == value && tail.back() == value, ranks, what + " behind 2 GB");
  };
  for (const int root : {0, 1}) {
    const auto base = static_cast<float>(40 + 20 * root);
    set_mine(base);
    ranks.gather(zero ? first : last, all, counts, root).wait();
    if (ranks.rank() == root) {
      expect_all(base, "a large gather");
      mark(floats, base + 10);
      std::fill(tail.begin(), tail.end(), base + 10);
    }
    ranks.scatter(all, zero ? first : last, counts, root).wait();
    if (zero)
      expect_marks(floats.first(large / sizeof(float)), base + 10, 1, ranks, "a large scatter");
    else
      expect(tail.front() == base + 10 && tail.back() == base + 10, ranks, "a scatter behind 2 GB");
  }
  set_mine(80);
  ranks.all_gather(zero ? first : last, all, counts).wait();
  expect_all(80, "a large all-gather");
}

void check_large_sums(Communicator& ranks, const SparseMemory& memory) {
  const std::span<float> data = memory.floats(large);
  mark(data, 90);
  ranks.all_reduce(data, data).wait();
  expect_marks(data, 90, 2, ranks, "a large all-reduce");
  mark(data, 100);
  ranks.reduce(data, data, 1).wait();
  if (ranks.rank() == 1) expect_marks(data, 100, 2, ranks, "a large reduce");
  const SparseMemory other(large);
  mark(other.floats(large), 110);
  const Part part = part_of(static_cast<int64_t>(data.size()), ranks.size(), ranks.rank());
  const std::span<float> mine = data.first(static_cast<size_t>(part.size()));
  ranks
      .reduce_scatter(other.floats(large), mine,
                      equal_counts(static_cast<int64_t>(data.size()), ranks.size()))
      .wait();
  expect_marks(mine, 110, 2, ranks, "a large reduce-scatter", static_cast<size_t>(part.begin),
               static_cast<size_t>(part.end));
}

// Rank 0 reads more bytes than an int can count, rank 1 the end of the file.
void check_large_file(Communicator& ranks, const SparseMemory& memory) {
  namespace fs = std::filesystem;
  const std::vector<std::string> names =
      gather_texts(ranks, fmt::format("lockstep-large-{}", ::getpid()));
  // Holes of a file in /dev/shm are read without allocating memory.
  const fs::path path = fs::path("/dev/shm") / names[0];
  if (ranks.rank() == 0) {
    std::ofstream file(path, std::ios::binary);
    for (size_t k = 0; k < marked.size(); ++k) {
      const float value = 120 + static_cast<float>(k);
      file.seekp(static_cast<std::streamoff>(marked[k] * sizeof(float)));
      file.write(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }
  ranks.barrier().wait();
  const bool zero = ranks.rank() == 0;
  const Bytes into = memory.bytes(zero ? large : small);
  ranks.read_file(path.string(), zero ? 0 : large - small, into);
  ranks.barrier().wait();
  if (zero) fs::remove(path);
  const size_t begin = zero ? 0 : (large - small) / sizeof(float);
  expect_marks(memory.floats(zero ? large : small), 120, 1, ranks, "a large file", begin);
}

}  // namespace

bool large_messages_fit() {
#ifdef __SANITIZE_THREAD__
  return false;  // its shadow memory is a multiple of the data
#endif
  std::ifstream memory("/proc/meminfo");
  std::string key;
  for (int64_t kilobytes = 0; memory >> key >> kilobytes; memory.ignore(64, '\n'))
    if (key == "MemAvailable:") return kilobytes > 3 * large / 1024;
  return false;
}

void check_large_messages(Communicator& ranks) {
  const SparseMemory memory(large + small);
  check_large_messages_between_two(ranks, memory);
  check_large_gathers(ranks, memory);
  check_large_sums(ranks, memory);
  check_large_file(ranks, memory);
}

void check_conformance(Communicator& ranks) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{13}, size_t{1000},
                             size_t{65'537}, size_t{690'590}}) {
    check_sums(ranks, count);
    const auto total = static_cast<int64_t>(count);
    check_reduce_scatter_and_all_gather(ranks, count, equal_counts(total, ranks.size()));
    // Unequal parts, some of them empty.
    std::vector<int64_t> unequal(static_cast<size_t>(ranks.size()), 0);
    for (int64_t i = 0; i < total; ++i)
      ++unequal[static_cast<size_t>(i * i / std::max<int64_t>(1, total)) % unequal.size()];
    check_reduce_scatter_and_all_gather(ranks, count, unequal);
    check_copies(ranks, count);
    ranks.barrier().wait();
  }
  for (const size_t count : {2, 1000, 65'537}) check_compressed(ranks, count);
  check_rounding(ranks);
  check_messages(ranks);
  check_overlap(ranks);
  check_many_under_way(ranks);
  check_split(ranks);
  const std::vector<std::string> texts =
      gather_texts(ranks, std::string(static_cast<size_t>(ranks.rank()), 'x'));
  for (int r = 0; r < ranks.size(); ++r)
    expect(texts[static_cast<size_t>(r)].size() == static_cast<size_t>(r), ranks, "gather_texts");
}

}  // namespace lockstep
