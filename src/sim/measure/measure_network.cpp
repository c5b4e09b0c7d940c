#include "sim/measure/measure_network.h"

#include <algorithm>
#include <barrier>
#include <numeric>
#include <thread>

#include "base/clock.h"
#include "base/statistics.h"
#include "base/undisturbed.h"
#include "comm/backend/self.h"
#include "data/loader.h"
#include "sim/measure/timed_device.h"
#include "sim/measure/written_buffer.h"
#include "train/batch_input.h"
#include "train/probe/step_probe.h"
#include "train/shares.h"

namespace lockstep {
namespace {

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<int64_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<size_t>(at)];
}

// Times of a rank's steps and of their parts.
struct RankTimes {
  std::vector<double> steps, watched_steps;
  std::vector<std::vector<double>> forward, backward;  // by kernel
  std::vector<double> losses, updates, norms;
};

void append(std::vector<double>& to, const std::vector<double>& from, size_t begin) {
  to.insert(to.end(), from.begin() + static_cast<int64_t>(begin), from.end());
}

// One measured rank: without and with timing of each kernel.
struct Rank {
  Rank(const RunConfig& config, const HeldBatches& held)
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
  std::map<int, RankTimes> samples;  // by number of ranks at the same time

  void run(int ranks, int64_t steps) {
    plain.run(steps);
    append(samples[ranks].steps, plain.step_seconds(), 0);
  }

  void watch(int ranks, int64_t steps) {
    timed.forget();
    watched.run(steps);
    RankTimes& s = samples[ranks];
    append(s.watched_steps, watched.step_seconds(), 0);
    s.forward.resize(timed.kernels().size());
    s.backward.resize(timed.kernels().size());
    for (size_t i = 0; i < timed.kernels().size(); ++i) {
      append(s.forward[i], timed.kernels()[i]->forward, 0);
      append(s.backward[i], timed.kernels()[i]->backward, 0);
    }
    append(s.losses, timed.losses(), 0);
    // With sparse inputs a step has many of these: use their sum per step.
    const auto per_step = [&](const std::vector<double>& all) {
      return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(steps);
    };
    if (timed.updates().size() == static_cast<size_t>(steps)) {
      append(s.updates, timed.updates(), 0);
      append(s.norms, timed.norms(), 0);
    } else {
      s.updates.push_back(per_step(timed.updates()));
      s.norms.push_back(per_step(timed.norms()));
    }
  }
};

void keep_longer(std::vector<double>& known, const std::vector<double>& other) {
  for (size_t i = 0; i < known.size(); ++i) known[i] = std::max(known[i], other[i]);
}

// Time of the slowest rank for each step: ranks that train together wait for it.
std::vector<double> slowest(const std::vector<std::unique_ptr<Rank>>& all, int ranks,
                            std::vector<double> RankTimes::*steps) {
  std::vector<double> longest = all[0]->samples.at(ranks).*steps;
  for (int r = 1; r < ranks; ++r)
    keep_longer(longest, all[static_cast<size_t>(r)]->samples.at(ranks).*steps);
  return longest;
}

std::vector<double> medians_of_rounds(const std::vector<double>& steps, int64_t a_round) {
  std::vector<double> medians;
  for (auto at = steps.begin(); at != steps.end(); at += a_round)
    medians.push_back(median({at, at + a_round}));
  return medians;
}

// Whole steps are measured without timing of kernels, their parts with it. `c`: all other costs.
StepCost cost_of(const std::vector<std::unique_ptr<Rank>>& all, int ranks, int64_t a_round,
                 StepCost c) {
  const std::vector<double> steps = slowest(all, ranks, &RankTimes::steps);
  const std::vector<double> watched = slowest(all, ranks, &RankTimes::watched_steps);
  const RankTimes& s = all[0]->samples.at(ranks);
  for (size_t i = 0; i < s.forward.size(); ++i)
    c.kernels.push_back({all[0]->timed.kernels()[i]->kernel, undisturbed(s.forward[i]),
                         undisturbed(s.backward[i])});
  c.update = undisturbed(s.updates);
  c.norm = undisturbed(s.norms);
  c.micro_batch = undisturbed(s.losses);
  const double step = undisturbed(steps);
  c.micro_batch = std::max(c.micro_batch, undisturbed(watched) - (c.step() - c.micro_batch));
  const double scale = step / c.step();
  for (KernelCost& k : c.kernels) {
    k.forward *= scale;
    k.backward *= scale;
  }
  c.update *= scale;
  c.norm *= scale;
  c.micro_batch *= scale;
  c.typical = std::max(1.0, median(steps) / step);
  const std::vector<double> medians = medians_of_rounds(steps, a_round);
  c.low = std::clamp(quantile(medians, 0.05) / step, 1.0, c.typical);
  c.high = std::max(quantile(medians, 0.95) / step, c.typical);
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

double inference_share(const RunConfig& config, const HeldBatches& held, const StepCost& cost) {
  const WallClock clock;
  const std::unique_ptr<Device> device = make_device(config.device);
  const Network network(config.model.layers, held.shape);
  Parameters parameters(network, *device);
  parameters.initialise(config.model.init, 1);
  Program program(network, config.train.loss, *device, held.micro_batch, held.sparse);
  const Batch& batch = held.batches[0];
  const double seconds = seconds_of(clock, 0.05, [&] {
    program.forward(parameters, input_of(batch), batch.rows, false,
                    {.seed = 1, .epoch = 1, .ids = batch.ids});
    program.loss(targets_of(batch));
  });
  double forward = cost.micro_batch;
  for (const KernelCost& k : cost.kernels) forward += k.forward;
  return seconds / forward;
}

// Written once, because memory that was never written is a single page of zeroes and fast to read.
DeviceMemory written_memory(Device& device, size_t floats) {
  DeviceMemory memory = device.allocate(floats * sizeof(float));
  device.fill(memory.floats(), 1);
  return memory;
}

// Copies gradients as they are stored: with sparse inputs, scattered rows.
double copy_seconds_per_float(Device& device, const Parameters& parameters) {
  const WallClock clock;
  const std::vector<Parameters::Span> spans = parameters.active();
  const DeviceMemory memory = written_memory(device, parameters.gradients().size());
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

// Update by a parameter server: the whole arrays, whichever rows were touched.
double whole_update_seconds_per_float(const RunConfig& config, Device& device, size_t floats) {
  const WallClock clock;
  const DeviceMemory weights = written_memory(device, floats),
                     gradients = written_memory(device, floats);
  Optimizer optimizer(config.optimizer, device, floats);
  return seconds_of(clock, 0.2,
                    [&] { optimizer.step(weights.floats(), gradients.floats(), 1e-3f, 1); }) /
         static_cast<double>(floats);
}

// Extra seconds of a step after a message of the whole arrays. With sparse inputs a step uses only
// a few rows, most of which would still be in the caches.
double seconds_after_whole_arrays(StepProbe& probe) {
  const Buffer arrays = written_buffer(2 * probe.parameters().gradients().size());
  std::vector<double> usual, after;
  for (int i = 0; i < 25; ++i) {
    std::ranges::fill(arrays.floats(), 2.0f);
    probe.run(1);
    after.push_back(probe.step_seconds()[0]);
    probe.run(2);
    usual.push_back(probe.step_seconds()[1]);
  }
  return std::max(0.0, median(after) - median(usual));
}

double load_seconds_per_row(const RunConfig& config, const DataSplits& data, int64_t micro_batch) {
  if (config.data.workers > 0) return 0;  // workers load while ranks compute
  const WallClock clock;
  BatchLoader loader(*data.train, micro_batch, 1, false, 0);
  loader.start_epoch(1);
  return seconds_of(clock, 0.05,
                    [&] {
                      if (!loader.next()) {
                        loader.start_epoch(1);
                        loader.next();
                      }
                    }) /
         static_cast<double>(micro_batch);
}

// Costs of a step outside its kernels.
StepCost cost_around_kernels(const RunConfig& config, const DataSplits& data,
                             const HeldBatches& held, Rank& rank) {
  const WallClock clock;
  Device& device = *rank.device;
  const Parameters& parameters = rank.plain.parameters();
  const size_t floats = parameters.gradients().size();
  const size_t summed = std::max<size_t>(floats, 1 << 16);
  const DeviceMemory a = written_memory(device, summed), b = written_memory(device, summed);
  StepCost c;
  c.add = seconds_of(clock, 0.02, [&] { device.add(a.floats(), b.floats()); }) /
          static_cast<double>(summed);
  c.load = load_seconds_per_row(config, data, held.micro_batch);
  c.copy = copy_seconds_per_float(device, parameters);
  if (held.sparse) {
    c.whole_update = whole_update_seconds_per_float(config, device, floats);
    c.after_whole_arrays = seconds_after_whole_arrays(rank.plain);
  }
  return c;
}

}  // namespace

NetworkCosts measure_network(const RunConfig& given, const DataSplits& data, int64_t rows,
                             int cores, double seconds) {
  RunConfig config = given;
  config.parallel = {};
  // A step of L-BFGS has an unknown number of the parts that are measured with gradient descent.
  if (is_lbfgs(config.optimizer)) config.optimizer.name = "sgd";
  const HeldBatches held = real_batches(config, data, micro_batch_rows(config, rows));
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
      steps = std::clamp<int64_t>(static_cast<int64_t>(0.02 / step), 1, 20000);
      const double a_round =
          2 * step * static_cast<double>(steps * static_cast<int64_t>(counts.size()));
      rounds = std::clamp(static_cast<int>(seconds / a_round), 3, 200);
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
  costs.rows = held.micro_batch;
  costs.parameters =
      bytes_per_step(all[0]->plain.parameters()) / static_cast<int64_t>(sizeof(float));
  const StepCost around = cost_around_kernels(config, data, held, *all[0]);
  for (const int ranks : counts) {
    StepCost c = cost_of(all, ranks, steps, around);
    c.inference = inference_share(config, held, c);
    costs.by_ranks[ranks] = c;
  }
  return costs;
}

}  // namespace lockstep
