#include "sim/measure.h"

#include <algorithm>
#include <barrier>
#include <numeric>
#include <thread>

#include "base/buffer.h"
#include "base/clock.h"
#include "comm/backend/self.h"
#include "data/loader.h"
#include "sim/timed_device.h"
#include "train/batch_input.h"
#include "train/epoch_feed.h"
#include "train/step_probe.h"

namespace lockstep {
namespace {

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<int64_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<size_t>(at)];
}

// Samples of a rank's steps and of their parts.
struct Samples {
  std::vector<double> steps, watched_steps;
  std::vector<std::vector<double>> forward, backward;  // by kernel
  std::vector<double> losses, updates, norms;
};

void append(std::vector<double>& to, const std::vector<double>& from, size_t begin) {
  to.insert(to.end(), from.begin() + static_cast<int64_t>(begin), from.end());
}

// One rank that is measured: as it is, and with a watch on each kernel.
struct Rank {
  Rank(const RunConfig& config, const Held& held)
      : self(make_self_communicator()),
        device(make_device(config.device)),
        timed(*device, clock),
        plain(config, held, held.rows, *self, *device, clock),
        watched(config, held, held.rows, *self, timed, clock) {
    plain.initialise();
    watched.initialise();
  }

  WallClock clock;
  std::unique_ptr<Communicator> self;
  std::unique_ptr<Device> device;
  TimedDevice timed;
  StepProbe plain, watched;
  std::map<int, Samples> samples;  // by ranks at once

  void run(int ranks, int64_t steps) {
    plain.run(steps);
    append(samples[ranks].steps, plain.step_seconds(), 0);
  }

  void watch(int ranks, int64_t steps) {
    timed.forget();
    watched.run(steps);
    Samples& s = samples[ranks];
    append(s.watched_steps, watched.step_seconds(), 0);
    s.forward.resize(timed.kernels().size());
    s.backward.resize(timed.kernels().size());
    for (size_t i = 0; i < timed.kernels().size(); ++i) {
      append(s.forward[i], timed.kernels()[i]->forward, 0);
      append(s.backward[i], timed.kernels()[i]->backward, 0);
    }
    append(s.losses, timed.losses(), 0);
    // With sparse inputs a step has many of these: their sums count.
    const auto a_step = [&](const std::vector<double>& all) {
      return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(steps);
    };
    if (timed.updates().size() == static_cast<size_t>(steps)) {
      append(s.updates, timed.updates(), 0);
      append(s.norms, timed.norms(), 0);
    } else {
      s.updates.push_back(a_step(timed.updates()));
      s.norms.push_back(a_step(timed.norms()));
    }
  }
};

// Undisturbed times: neighbours on the same hardware make some steps slower, and none quicker.
double undisturbed(const std::vector<double>& values) { return quantile(values, 0.1); }

// Whole steps come from the ranks without watches, their parts from those with.
StepCost cost_of(const std::vector<std::unique_ptr<Rank>>& all, int ranks) {
  std::vector<double> steps, watched;
  for (int r = 0; r < ranks; ++r) {
    const Samples& s = all[static_cast<size_t>(r)]->samples.at(ranks);
    append(steps, s.steps, 0);
    append(watched, s.watched_steps, 0);
  }
  const Samples& s = all[0]->samples.at(ranks);
  StepCost c;
  for (size_t i = 0; i < s.forward.size(); ++i)
    c.kernels.push_back({all[0]->timed.kernels()[i]->kernel, undisturbed(s.forward[i]),
                         undisturbed(s.backward[i])});
  c.update = undisturbed(s.updates);
  c.norm = undisturbed(s.norms);
  c.piece = undisturbed(s.losses);
  const double step = undisturbed(steps);
  c.piece = std::max(c.piece, undisturbed(watched) - (c.step() - c.piece));
  const double scale = step / c.step();
  for (KernelCost& k : c.kernels) {
    k.forward *= scale;
    k.backward *= scale;
  }
  c.update *= scale;
  c.norm *= scale;
  c.piece *= scale;
  c.spread = quantile(steps, 0.75) / step - 1;
  return c;
}

template <typename Run>
double seconds_of(const Clock& clock, double limit, const Run& run) {
  std::vector<double> samples;
  run();
  for (const double begin = clock.seconds(); clock.seconds() - begin < limit;) {
    const double start = clock.seconds();
    run();
    samples.push_back(clock.seconds() - start);
  }
  return undisturbed(samples);
}

double inference_share(const RunConfig& config, const Held& held, const StepCost& cost) {
  const WallClock clock;
  const std::unique_ptr<Device> device = make_device(config.device);
  const Network network(config.model.layers, held.shape);
  Parameters parameters(network);
  parameters.initialise(init_named(config.model.init), 1);
  Program program(network, loss_named(config.train.loss), *device, held.piece, held.sparse);
  const Batch& batch = held.batches[0];
  const double seconds = seconds_of(clock, 0.05, [&] {
    program.forward(parameters, input_of(batch), batch.rows, false,
                    {.seed = 1, .epoch = 1, .ids = batch.ids});
    program.loss(targets_of(batch));
  });
  double forward = cost.piece;
  for (const KernelCost& k : cost.kernels) forward += k.forward;
  return seconds / forward;
}

// As gradients are packed for others and unpacked: with sparse inputs, rows here and there.
double copy_seconds_a_float(Device& device, const Parameters& parameters) {
  const WallClock clock;
  const std::vector<Parameters::Span> spans = parameters.active();
  const Buffer memory(parameters.gradients().size_bytes());
  size_t floats = 0;
  const auto copy = [&] {
    floats = 0;
    for (const auto [begin, count] : spans) {
      device.copy(parameters.gradients().subspan(begin, count),
                  memory.floats().subspan(floats, count));
      floats += count;
    }
  };
  const double seconds = seconds_of(clock, 0.02, copy);
  return seconds / static_cast<double>(floats);
}

double load_seconds_a_row(const RunConfig& config, const DataSplits& data, int64_t piece) {
  if (config.data.workers > 0) return 0;  // they load while others compute
  const WallClock clock;
  BatchLoader loader(*data.train, piece, 1, false, 0);
  loader.start_epoch(1);
  return seconds_of(clock, 0.05,
                    [&] {
                      if (!loader.next()) {
                        loader.start_epoch(1);
                        loader.next();
                      }
                    }) /
         static_cast<double>(piece);
}

}  // namespace

NetworkCosts measure_costs(const RunConfig& given, const DataSplits& data, int64_t rows, int cores,
                           double seconds) {
  RunConfig config = given;
  config.parallel = {};
  const Held held = real_batches(config, data, piece_size(rows, piece_limit(config.train)));
  const int most = std::max(1, cores / config.device.threads);
  std::vector<int> counts;
  for (int n = 1; n < most; n *= 2) counts.push_back(n);
  counts.push_back(most);

  std::vector<std::unique_ptr<Rank>> all;
  for (int r = 0; r < most; ++r) all.push_back(std::make_unique<Rank>(config, held));
  std::barrier meet(most);
  std::atomic<int64_t> steps = 1;
  std::atomic<int> rounds = 1;
  const auto main = [&](int me) {
    Rank& rank = *all[static_cast<size_t>(me)];
    rank.plain.run(3);
    rank.watched.run(3);
    if (me == 0) {
      const double step = std::max(rank.plain.step_seconds().back(), 1e-7);
      steps = std::clamp<int64_t>(static_cast<int64_t>(0.02 / step), 1, 2000);
      const double a_round =
          2 * step * static_cast<double>(steps * static_cast<int64_t>(counts.size()));
      rounds = std::clamp(static_cast<int>(seconds / a_round), 3, 50);
    }
    meet.arrive_and_wait();
    for (int round = 0; round < rounds; ++round)
      for (const int ranks : counts) {
        if (me < ranks) rank.run(ranks, steps);
        meet.arrive_and_wait();
        if (me < ranks) rank.watch(ranks, steps);
        meet.arrive_and_wait();
      }
  };
  std::vector<std::thread> threads;
  for (int r = 1; r < most; ++r) threads.emplace_back(main, r);
  main(0);
  for (std::thread& thread : threads) thread.join();

  NetworkCosts costs;
  costs.rows = held.piece;
  costs.parameters = bytes_a_step(all[0]->plain.parameters()) / static_cast<int64_t>(sizeof(float));
  const WallClock clock;
  std::vector<float> a(1 << 20), b(a.size());
  const double add =
      seconds_of(clock, 0.02, [&] { all[0]->device->add(a, b); }) / static_cast<double>(a.size());
  const double copy = copy_seconds_a_float(*all[0]->device, all[0]->plain.parameters());
  const double load = load_seconds_a_row(config, data, held.piece);
  for (const int ranks : counts) {
    StepCost c = cost_of(all, ranks);
    c.inference = inference_share(config, held, c);
    c.add = add;
    c.copy = copy;
    c.load = load;
    costs.by_ranks[ranks] = c;
  }
  return costs;
}

std::map<std::string, SizeTable> measure_operations(Communicator& ranks) {
  const WallClock clock;
  constexpr size_t most = 32 << 20;
  const Buffer mine_memory(most), all_memory(2 * most);  // on large pages, as a network's arena
  const std::span<float> mine = mine_memory.floats(), all = all_memory.floats();
  std::vector<float> work(16384);
  std::map<std::string, SizeTable> tables;
  const int other = 1 - ranks.rank();
  // `use`: what a rank does with the data next. Where they are in the cache of another core that
  // takes longer, which belongs to the operation.
  volatile float used = 0;
  const auto reads = [&](std::span<float> part) {
    float sum = 0;
    for (size_t i = 0; i < part.size(); i += 16) sum += part[i];
    used = sum;
  };
  const auto writes = [](std::span<float> part) { std::fill(part.begin(), part.end(), 2.0f); };
  const auto nothing = [](std::span<float>) {};
  const auto measure = [&](const std::string& name, size_t limit, const auto& run,
                           const auto& use) {
    for (size_t bytes = 64; bytes <= limit; bytes *= 2) {
      const std::span<float> part = mine.first(bytes / sizeof(float));
      std::vector<double> samples;
      const int rounds =
          bytes <= 65536 ? 80
                         : static_cast<int>(std::clamp<size_t>((size_t{1} << 25) / bytes, 8, 20));
      for (int i = 0; i < rounds; ++i) {
        ranks.barrier().wait();
        // As a step leaves things: gradients just written, caches full of something else.
        std::fill(part.begin(), part.end(), 1.0f);
        if (bytes < work.size() * sizeof(float)) std::fill(work.begin(), work.end(), 1.0f);
        const double start = clock.seconds();
        run(part);
        const double done = clock.seconds();
        use(part);
        const double first = clock.seconds();
        use(part);
        const double again = clock.seconds() - first;
        samples.push_back(done - start + std::max(0.0, first - done - again));
      }
      const std::vector<double> both = gather_all(ranks, undisturbed(samples));
      const double seconds = std::max(both[0], both[1]);
      tables[name].add(static_cast<double>(bytes), name == "receive" ? seconds / 2 : seconds);
    }
  };
  const auto counts = [&](std::span<float> part) {
    return std::vector<int64_t>(2, static_cast<int64_t>(part.size_bytes()));
  };
  measure(
      "exchange", most,
      [&](std::span<float> part) {
        Request out = ranks.send(std::as_bytes(part), other, 5);
        ranks.receive(bytes_of(all.first(part.size())), other, 5).wait();
        out.wait();
      },
      nothing);
  measure(
      "receive", most,
      [&](std::span<float> part) {  // there and back
        if (ranks.rank() == 0) {
          ranks.send(std::as_bytes(part), 1, 6).wait();
          ranks.receive(bytes_of(part), 1, 6).wait();
        } else {
          ranks.receive(bytes_of(part), 0, 6).wait();
          ranks.send(std::as_bytes(part), 0, 6).wait();
        }
      },
      nothing);
  measure(
      "all-reduce", most, [&](std::span<float> part) { ranks.all_reduce(part, part).wait(); },
      reads);
  measure(
      "reduce", most, [&](std::span<float> part) { ranks.reduce(part, part, 0).wait(); }, reads);
  measure(
      "broadcast", most, [&](std::span<float> part) { ranks.broadcast(bytes_of(part), 0).wait(); },
      [&](std::span<float> part) {
        if (ranks.rank() == 0) writes(part);
      });
  measure(
      "gather", most,
      [&](std::span<float> part) {
        ranks.gather(std::as_bytes(part), bytes_of(all), counts(part), 0).wait();
      },
      [&](std::span<float> part) {
        if (ranks.rank() == 0) reads(all.subspan(part.size(), part.size()));
      });
  measure(
      "scatter", most,
      [&](std::span<float> part) {
        ranks.scatter(std::as_bytes(all), bytes_of(part), counts(part), 0).wait();
      },
      nothing);
  measure(
      "all-gather", 65536,
      [&](std::span<float> part) {
        ranks.all_gather(std::as_bytes(part), bytes_of(all), counts(part)).wait();
      },
      nothing);
  measure(
      "barrier", 64, [&](std::span<float>) { ranks.barrier().wait(); }, nothing);
  return tables;
}

}  // namespace lockstep
