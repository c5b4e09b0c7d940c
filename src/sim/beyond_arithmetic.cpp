#include "sim/beyond_arithmetic.h"

#include <algorithm>

#include "base/clock.h"
#include "base/undisturbed.h"
#include "comm/backend/self.h"
#include "comm/backend/threads.h"
#include "sim/near_cores.h"
#include "train/step_probe.h"

namespace lockstep {
namespace {

// Seconds of a few steps by each rank for itself, of as many by both together, and of their
// messages alone: one after the other within milliseconds, so that a disturbance meets all three.
struct Turn {
  std::vector<double> apart, together, messages;
  bool on_one_core = false;  // of the host: see NearCores
};

// Of two ranks. A server makes no steps.
void keep_longer(Turn& known, const Turn& other) {
  for (const auto part : {&Turn::apart, &Turn::together, &Turn::messages})
    for (size_t i = 0; i < (other.*part).size(); ++i)
      (known.*part)[i] = std::max((known.*part)[i], (other.*part)[i]);
}

// The quickest steps together, less the quickest steps apart and messages: a prediction that adds
// them up again says what steps together take when they are quickest.
double together_beyond_apart(const std::vector<Turn>& turns) {
  const bool only_shared = std::ranges::all_of(turns, &Turn::on_one_core);
  const auto quickest = [&](std::vector<double> Turn::*part) {
    std::vector<double> all;
    for (const Turn& turn : turns)
      if (!turn.on_one_core || only_shared)
        all.insert(all.end(), (turn.*part).begin(), (turn.*part).end());
    return undisturbed(std::move(all));
  };
  return quickest(&Turn::together) - quickest(&Turn::apart) - quickest(&Turn::messages);
}

std::string strategy_with_servers() {
  const auto has_servers = [](const StrategyEntry& entry) { return entry.traits({}).servers > 0; };
  return std::ranges::find_if(strategies(), has_servers)->name;
}

// The messages of a step, with nothing around them.
class Messages {
 public:
  Messages(Communicator& ranks, const Parameters& parameters, size_t active)
      : ranks_(ranks),
        gradients_(parameters.gradients_on_host().floats().first(active)),
        rows_(parameters.touched() ? parameters.touched()->list().size() : 0),
        all_rows_(2 * rows_.size()),
        counts_(2, static_cast<int64_t>(rows_.size() * sizeof(int32_t))) {}

  void all_reduce() {
    if (!rows_.empty()) {
      gather_all(ranks_, rows_.size());
      ranks_.all_gather(std::as_bytes(std::span(rows_)), bytes_of(std::span(all_rows_)), counts_)
          .wait();
    }
    ranks_.all_reduce(gradients_, gradients_).wait();
  }

  // Gradients to the server, weights back, a head before each.
  void push_and_pull() {
    if (ranks_.rank() == 0) {
      send_to(1);
      receive_from(1);
    } else {
      receive_from(0);
      send_to(0);
    }
  }

 private:
  void send_to(int to) {
    Request head = ranks_.send(std::as_bytes(std::span(head_)), to, 1);
    ranks_.send(std::as_bytes(gradients_), to, 2).wait();
    head.wait();
  }
  void receive_from(int from) {
    ranks_.receive(bytes_of(std::span(head_)), from, 1).wait();
    ranks_.receive(bytes_of(gradients_), from, 2).wait();
  }

  Communicator& ranks_;
  std::span<float> gradients_;
  std::vector<int32_t> rows_, all_rows_;
  std::vector<int64_t> counts_;
  std::vector<double> head_ = std::vector<double>(4);
};

}  // namespace

Beyond beyond_arithmetic(const RunConfig& config, const HeldBatches& held, Pair pair,
                         const NearCores& near, double seconds, const StepCost& cost,
                         int64_t own_floats) {
  RunConfig of_both = config;
  if (pair == Pair::worker_and_server) of_both.parallel.strategy = strategy_with_servers();
  std::vector<Turn> turns;
  double floats = 0, packed = 0;
  const auto make_turns = [&] {
    std::vector<Turn> made[2];
    run_thread_ranks(2, 60, [&](Communicator& ranks) {
      std::vector<Turn>& mine = made[static_cast<size_t>(ranks.rank())];
      const bool trains = ranks.rank() == 0 || pair == Pair::both_train;
      const WallClock clock;
      const std::unique_ptr<Device> device = make_device(config.device);
      const std::unique_ptr<Communicator> self = make_self_communicator();
      StepProbe apart(config, held, held.rows, *self, *device, clock);
      StepProbe together(of_both, held, (pair == Pair::both_train ? 2 : 1) * held.rows, ranks,
                         *device, clock);
      for (StepProbe* probe : {&apart, &together}) {
        probe->initialise();
        probe->run(3);
      }
      const Parameters& p = together.parameters();
      const auto active = static_cast<size_t>(bytes_a_step(p)) / sizeof(float);
      Messages messages(ranks, p, active);
      constexpr double a_turn = 1e-3;
      const auto fit = static_cast<int64_t>(a_turn / apart.step_seconds().back());
      const auto steps = gather_all(ranks, std::max<int64_t>(1, fit))[0];
      const auto is_over = [&, begin = clock.seconds()] {
        return gather_all(ranks, clock.seconds() - begin)[0] > seconds;
      };
      const double work = work_of_one(ranks, clock);
      while (mine.size() < 3 || !is_over()) {
        Turn& turn = mine.emplace_back();
        turn.on_one_core = work_of_both(ranks, clock) > shared_core * work;
        if (trains) {
          apart.run(steps);
          turn.apart = apart.step_seconds();
        }
        ranks.barrier().wait();
        together.run(steps);
        turn.together = together.step_seconds();
        for (int64_t i = 0; i < steps; ++i) {
          ranks.barrier().wait();
          const double start = clock.seconds();
          pair == Pair::both_train ? messages.all_reduce() : messages.push_and_pull();
          if (trains) turn.messages.push_back(clock.seconds() - start);
        }
      }
      if (ranks.rank() > 0) return;
      floats = static_cast<double>(active);
      packed = floats - static_cast<double>(p.gradients().size() - p.dense_begin());
    });
    for (size_t i = 0; i < made[0].size(); ++i) {
      keep_longer(made[0][i], made[1][i]);
      turns.push_back(std::move(made[0][i]));
    }
  };
  // Twice, on other memory: once in twenty times all steps took microseconds more.
  constexpr double patience = 4;
  near.run(
      [&, times = 0]() mutable {
        make_turns();
        return ++times >= 2;
      },
      patience);
  const double more_rows = floats / static_cast<double>(own_floats) - 1;
  const double beyond = together_beyond_apart(turns) - (cost.update + cost.norm) * more_rows;
  return {std::max(0.0, beyond), packed};
}

}  // namespace lockstep
