#include "sim/measure/measure_messages.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/clock.h"
#include "base/undisturbed.h"
#include "sim/measure/written_buffer.h"

namespace lockstep {

std::map<std::string, SizeTable> measure_messages(Communicator& ranks) {
  const WallClock clock;
  constexpr size_t most = 32 << 20;
  // On large pages, like a network's arena.
  const Buffer mine_memory = written_buffer(most / sizeof(float)),
               all_memory = written_buffer(most / 2);
  const std::span<float> mine = mine_memory.floats(), all = all_memory.floats();
  const Buffer others_memory = written_buffer(most / 2 / sizeof(float));
  const std::span<float> others = others_memory.floats();
  std::map<std::string, std::map<size_t, std::vector<double>>> samples;  // seconds, by bytes
  const int other = 1 - ranks.rank();
  // `use`: how a rank accesses the data next (arguments: a part of the data, total number of
  // floats). While they are in the cache of another core this takes longer; the difference belongs
  // to the operation.
  volatile float used = 0;
  const auto read = [&](std::span<float> part) {
    float sum = 0;
    for (size_t i = 0; i < part.size(); i += 16) sum += part[i];
    used = sum;
  };
  // Writes a cache line at a time with arithmetic in between, as kernels write gradients: about 2
  // GB/s. Processors that fetch lines from other cores in the meantime lose nothing.
  const auto writes = [](std::span<float> part, size_t) {
    float value = 1;
    for (size_t i = 0; i < part.size(); i += 16) {
      for (int k = 0; k < 32; ++k) value = value * 0.999f + 0.001f;
      std::ranges::fill(part.subspan(i, std::min<size_t>(16, part.size() - i)), value);
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);  // waits for the stores
  };
  // Gradients: the update reads them, the next step writes them.
  const auto reads_and_writes = [&](std::span<float> part, size_t) {
    read(part);
    writes(part, 0);
  };
  const auto nothing = [](std::span<float>, size_t) {};
  const auto measure = [&](const std::string& name, size_t limit, const auto& run, const auto& use,
                           double messages = 1) {
    for (size_t bytes = 64; bytes <= limit; bytes *= 2) {
      const std::span<float> part = mine.first(bytes / sizeof(float));
      const int rounds =
          bytes <= 65536 ? 60
                         : static_cast<int>(std::clamp<size_t>((size_t{1} << 22) / bytes, 2, 20));
      std::vector<double>& here = samples[name][bytes];
      for (int i = 0; i < rounds; ++i) {
        ranks.barrier().wait();
        // The state after a step: gradients just written, caches full of other data such as weights
        // and optimiser state.
        std::fill(part.begin(), part.end(), 1.0f);
        for (float& f : others.first(std::clamp(3 * part.size(), size_t{16384}, others.size())))
          f += 1.0f;
        const double start = clock.seconds();
        run(part);
        const double done = clock.seconds();
        // Large parts are extrapolated from their beginning.
        const std::span<float> some = part.first(std::min(part.size(), size_t{1} << 20));
        use(some, part.size());
        const double first = clock.seconds();
        use(some, part.size());
        const double again = clock.seconds() - first;
        const double longer = std::max(0.0, first - done - again);
        here.push_back((done - start) / messages + longer * static_cast<double>(part.size()) /
                                                       static_cast<double>(some.size()));
      }
    }
  };
  const auto counts = [&](std::span<float> part) {
    return std::vector<int64_t>(2, static_cast<int64_t>(part.size_bytes()));
  };
  // Several passes, so that a short disturbance does not meet all samples of a size.
  for (int pass = 0; pass < 6; ++pass) {
    measure(
        "exchange", most,
        [&](std::span<float> part) {
          Request out = ranks.send(std::as_bytes(part), other, 5);
          ranks.receive(std::as_writable_bytes(all.first(part.size())), other, 5).wait();
          out.wait();
        },
        nothing);
    measure(
        "receive", most,
        [&](std::span<float> part) {  // round trip
          if (ranks.rank() == 0) {
            ranks.send(std::as_bytes(part), 1, 6).wait();
            ranks.receive(std::as_writable_bytes(part), 1, 6).wait();
          } else {
            ranks.receive(std::as_writable_bytes(part), 0, 6).wait();
            ranks.send(std::as_bytes(part), 0, 6).wait();
          }
        },
        writes, 2);
    measure(
        "all-reduce", most, [&](std::span<float> part) { ranks.all_reduce(part, part).wait(); },
        reads_and_writes);
    measure(
        "reduce", most, [&](std::span<float> part) { ranks.reduce(part, part, 0).wait(); },
        reads_and_writes);
    measure(
        "broadcast", most,
        [&](std::span<float> part) { ranks.broadcast(std::as_writable_bytes(part), 0).wait(); },
        [&](std::span<float> part, size_t) {
          if (ranks.rank() == 0) writes(part, 0);
        });
    measure(
        "gather", most,
        [&](std::span<float> part) {
          ranks.gather(std::as_bytes(part), std::as_writable_bytes(all), counts(part), 0).wait();
        },
        [&](std::span<float> part, size_t whole) {  // the other rank's block, behind its own
          if (ranks.rank() == 0) read(all.subspan(whole, part.size()));
        });
    measure(
        "scatter", most,
        [&](std::span<float> part) {
          ranks.scatter(std::as_bytes(all), std::as_writable_bytes(part), counts(part), 0).wait();
        },
        nothing);
    measure(
        "all-gather", 65536,
        [&](std::span<float> part) {
          ranks.all_gather(std::as_bytes(part), std::as_writable_bytes(all), counts(part)).wait();
        },
        nothing);
    measure(
        "barrier", 64, [&](std::span<float>) { ranks.barrier().wait(); }, nothing);
  }
  std::map<std::string, SizeTable> tables;
  for (const auto& [name, sizes] : samples)
    for (const auto& [bytes, here] : sizes) {
      const std::vector<double> both = gather_all(ranks, undisturbed(here));
      tables[name].add(static_cast<double>(bytes), std::max(both[0], both[1]));
    }
  return tables;
}

}  // namespace lockstep
