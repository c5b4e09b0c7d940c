#include "sim/measure/measure_messages.h"

#include <algorithm>
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
  // `read_next`: what a rank reads next. Reading takes longer while the data are in the cache of
  // another core; the difference belongs to the operation. (The next step also writes memory that
  // others have read, but kernels hide that: they write a few lines at a time, and compute in
  // between.)
  volatile float used = 0;
  const auto read = [&](std::span<const float> part) {
    float sum = 0;
    for (size_t i = 0; i < part.size(); i += 16) sum += part[i];
    used = sum;
  };
  const auto nothing = [](std::span<float>) { return std::span<const float>(); };
  const auto itself = [](std::span<float> part) { return std::span<const float>(part); };
  const auto measure = [&](const std::string& name, size_t limit, const auto& run,
                           const auto& read_next, double messages = 1) {
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
        const std::span<const float> next = read_next(part);
        const std::span<const float> some = next.first(std::min(next.size(), size_t{1} << 20));
        read(some);
        const double first = clock.seconds();
        read(some);
        const double longer = std::max(0.0, first - done - (clock.seconds() - first));
        here.push_back((done - start) / messages +
                       longer * static_cast<double>(next.size()) /
                           static_cast<double>(std::max<size_t>(1, some.size())));
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
        nothing, 2);
    measure(
        "all-reduce", most, [&](std::span<float> part) { ranks.all_reduce(part, part).wait(); },
        itself);
    measure(
        "reduce", most, [&](std::span<float> part) { ranks.reduce(part, part, 0).wait(); }, itself);
    measure(
        "broadcast", most,
        [&](std::span<float> part) { ranks.broadcast(std::as_writable_bytes(part), 0).wait(); },
        nothing);
    measure(
        "gather", most,
        [&](std::span<float> part) {
          ranks.gather(std::as_bytes(part), std::as_writable_bytes(all), counts(part), 0).wait();
        },
        [&](std::span<float> part) {  // the other rank's block, behind its own
          return ranks.rank() == 0 ? all.subspan(part.size(), part.size()) : std::span<float>();
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
