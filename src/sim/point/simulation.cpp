#include "sim/point/simulation.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "os/apart.h"
#include "os/buffer.h"
#include "parallel/strategy.h"
#include "sim/engine/analytic/analytic.h"
#include "sim/engine/costed_device.h"
#include "sim/engine/engine.h"
#include "sim/engine/noisy_time.h"
#include "sim/point/certainty.h"
#include "train/probe/held_batches.h"
#include "train/probe/step_probe.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr int traced_steps = 3;

// Results of one rank of the simulated run.
struct RankOutcome {
  double started = 0, first = 0, second = 0;  // bounds of two epochs
  StepTimes times;                            // per step of the second epoch
  Trace trace;
};

// Steps of two epochs. Their different lengths tell the cost of a step from the overhead of an
// epoch.
struct Lengths {
  int64_t first = 2, second = 4;
};

// Number of steps whose mean is known to about 0.5%, for at most a few seconds of simulation. Of
// many ranks that wait for each other the slowest counts, and it varies less.
int64_t steps_to_average(double noise, int64_t ranks) {
  constexpr double standard_error = 0.005;
  constexpr int64_t fewest = 20, most_of_all_ranks = 6000;
  const double slowest =
      ranks == 1 ? 1 : 1.28 / std::sqrt(2 * std::log(static_cast<double>(ranks)));
  const double needed = std::pow(deviation_of(noise) * std::min(1.0, slowest) / standard_error, 2);
  const auto most = static_cast<double>(std::max(fewest, most_of_all_ranks / ranks));
  return static_cast<int64_t>(std::clamp(needed, static_cast<double>(fewest), most));
}

Lengths lengths_for(const RunConfig& config, int64_t ranks, bool trace) {
  const int64_t period = traits_of(config.parallel).period;
  if (period > 1) return {period, 2 * period};
  return ranks >= 128 ? Lengths{1, trace ? traced_steps : 2} : Lengths{2, 4};
}

Json to_json(const StepTimes& t) { return {t.load, t.compute, t.hidden, t.exposed, t.waiting}; }

StepTimes times_from(const Json& json) {
  return {json[0].get<double>(), json[1].get<double>(), json[2].get<double>(),
          json[3].get<double>(), json[4].get<double>()};
}

std::string packed(const std::vector<RankOutcome>& outcomes) {
  Json all = Json::array();
  for (const RankOutcome& o : outcomes) {
    Json events = Json::array();
    for (const Trace::Event& e : o.trace.events()) events.push_back({e.name, e.start, e.end});
    all.push_back({o.started, o.first, o.second, to_json(o.times), events});
  }
  return all.dump();
}

std::vector<RankOutcome> unpacked(const std::string& text) {
  std::vector<RankOutcome> outcomes;
  for (const Json& json : Json::parse(text)) {
    RankOutcome o{json[0].get<double>(),
                  json[1].get<double>(),
                  json[2].get<double>(),
                  times_from(json[3]),
                  {}};
    for (const Json& e : json[4])
      o.trace.add(e[0].get<std::string>(), e[1].get<double>(), e[2].get<double>());
    outcomes.push_back(std::move(o));
  }
  return outcomes;
}

StepTimes per_step(StepTimes t, double steps) {
  return {t.load / steps, t.compute / steps, t.hidden / steps, t.exposed / steps,
          t.waiting / steps};
}

double evaluation_seconds(const Dataset* data, const StepCost& cost, int64_t micro_batch,
                          int64_t ranks, double speed) {
  if (!data) return 0;
  double forward = cost.micro_batch;
  for (const KernelCost& k : cost.kernels) forward += k.forward;
  const double rows = std::ceil(static_cast<double>(data->size()) / static_cast<double>(ranks));
  return rows * (forward * cost.inference / static_cast<double>(micro_batch) + cost.load) / speed;
}

// Runs the ranks of a point in virtual time.
class PointRun {
 public:
  PointRun(const SimulatedPoint& point, const DataSplits& data, const Profile& profile,
           const Cluster& cluster, const SimulateOptions& options)
      : point_(point),
        config_(point.config),
        profile_(profile),
        cluster_(engine_cluster(point, cluster)),
        options_(options),
        shares_(shares_of(point, data)),
        costs_(known_costs(point, data, profile)),
        of_ranks_(point, costs_, profile, cluster),
        held_(real_micro_batches(config_, data, shares_.micro_batch)) {}

  // `noise`: of computing, see Disturbance.
  std::vector<RankOutcome> run(const Lengths& lengths, double noise, bool trace);

  const Shares& shares() const { return shares_; }
  const NetworkCosts& costs() const { return costs_; }
  PointCosts& of_ranks() { return of_ranks_; }

 private:
  // Costs of bound ranks already include shared cores: SimGrid must not share them again.
  static Cluster engine_cluster(const SimulatedPoint& point, Cluster cluster) {
    if (affinity_kind(point.config.parallel.affinity) != AffinityKind::none)
      for (NodeKind& kind : cluster.kinds)
        kind.cores = std::max(kind.cores, point.per_node * point.config.device.threads);
    return cluster;
  }

  const SimulatedPoint& point_;
  const RunConfig& config_;
  const Profile& profile_;
  const Cluster cluster_;
  const SimulateOptions& options_;
  const Shares shares_;
  const NetworkCosts costs_;
  PointCosts of_ranks_;
  const HeldBatches held_;
};

std::vector<RankOutcome> PointRun::run(const Lengths& lengths, double noise, bool trace) {
  const int64_t ranks = config_.parallel.ranks;
  const bool analytic = options_.engine == Engine::analytic;
  const StrategyTraits traits = traits_of(config_.parallel);
  const bool meet_each_step = traits.meets_each_step;
  if (analytic && config_.parallel.pipeline > 1)
    throw UserError("closed forms do not know pipelines; use --engine simgrid");
  if (analytic && traits.servers > 0 && !meet_each_step)
    throw UserError(
        "the analytic engine does not simulate asynchronous servers; use --engine simgrid");
  const SimulatedJob job{.cluster = cluster_,
                         .profile = profile_,
                         .nodes = cluster_.place(static_cast<int>(ranks), point_.per_node),
                         .threads = config_.device.threads,
                         .backend = config_.parallel.backend,
                         .collectives = options_.collectives,
                         .moves_data = false};
  std::vector<RankOutcome> outcomes(static_cast<size_t>(ranks));
  const SimulatedMain rank_main = [&](SimulatedRank& rank) {
    const StepCost cost =
        analytic ? of_ranks_.of_slowest_rank(0) : of_ranks_.of_rank(rank.ranks.rank());
    NoisyTime time(rank.clock, noise, static_cast<uint64_t>(config_.seed), rank.ranks.rank(),
                   analytic && meet_each_step ? shares_.training : 1);
    CostedDevice device(cost, costs_.rows, costs_.parameters, time);
    StepProbe probe(config_, held_, shares_.all, rank.ranks, device, rank.clock);
    const double per_row = options_.loading ? cost.load : 0;
    const bool whole_arrays = held_.sparse && traits.sends_whole_arrays;
    const double per_micro_batch = whole_arrays ? cost.after_whole_arrays : 0;
    probe.before_micro_batch([=, &rank](int64_t rows) {
      rank.clock.spend(per_row * static_cast<double>(rows) + per_micro_batch);
    });
    RankOutcome& mine = outcomes[static_cast<size_t>(rank.ranks.rank())];
    if (trace) probe.record(mine.trace);
    probe.run(1);  // warm-up
    mine.started = rank.clock.seconds();
    probe.run(lengths.first);
    mine.first = rank.clock.seconds();
    probe.run(lengths.second);
    mine.second = rank.clock.seconds();
    mine.times = per_step(probe.times(), static_cast<double>(lengths.second));
  };
  if (!analytic)
    return unpacked(run_apart([&] {
      run_on_simgrid(job, rank_main);
      return packed(outcomes);
    }));
  const StepCost cost = of_ranks_.of_slowest_rank(0);
  const double update_per_float = cost.whole_update > 0
                                      ? cost.whole_update
                                      : cost.update / static_cast<double>(costs_.parameters);
  expect_untouched_buffers();
  run_analytically(job, {traits.servers, update_per_float, cost.add}, rank_main);
  outcomes.resize(1);
  return outcomes;
}

// Seconds per step, and per epoch beyond its steps.
struct EpochTime {
  double step = 0, once = 0;
};

EpochTime epoch_time(const std::vector<RankOutcome>& outcomes, const Lengths& lengths) {
  double started = 0, first = 0, second = 0;
  for (const RankOutcome& o : outcomes) {
    started = std::max(started, o.started);
    first = std::max(first, o.first);
    second = std::max(second, o.second);
  }
  const double short_epoch = first - started, long_epoch = second - first;
  const auto steps = static_cast<double>(lengths.second);
  double step = (long_epoch - short_epoch) / static_cast<double>(lengths.second - lengths.first);
  if (!(step > 0)) step = long_epoch / steps;
  return {step, std::max(0.0, long_epoch - steps * step)};
}

// Expected times from undisturbed ones. Links between nodes are as fast as the cluster file says.
StepTimes expected(StepTimes t, double typical, bool across_nodes) {
  const double messages = across_nodes ? 1 : typical;
  return {t.load * typical, t.compute * typical, t.hidden * messages, t.exposed * messages,
          t.waiting * messages};
}

double sum_of(const StepTimes& t) { return t.load + t.compute + t.exposed + t.waiting; }

}  // namespace

void account_for_failure(Prediction& p, const RunConfig& config, const Disturbance& disturbance,
                         double checkpoint_seconds) {
  p.checkpoint_interval = std::sqrt(2 * checkpoint_seconds * disturbance.fails_at);
  if (disturbance.fails_at >= p.total_seconds) return;
  const double interval = config.train.checkpoint_every > 0
                              ? static_cast<double>(config.train.checkpoint_every) * p.step_seconds
                              : disturbance.fails_at;  // no checkpoints: all work is lost
  p.lost_seconds =
      std::fmod(disturbance.fails_at, interval) + config.parallel.timeout + disturbance.restart;
  if (config.train.checkpoint_every == 0) p.lost_seconds += disturbance.fails_at;
  p.total_seconds += p.lost_seconds;
}

Prediction simulate_point(const SimulatedPoint& point, const DataSplits& data,
                          const Profile& profile, const Cluster& cluster,
                          const SimulateOptions& options) {
  const RunConfig& config = point.config;
  const int64_t ranks = config.parallel.ranks;
  PointRun run(point, data, profile, cluster, options);
  const Shares& shares = run.shares();
  const Lengths lengths = lengths_for(config, ranks, options.trace);
  std::vector<RankOutcome> outcomes = run.run(lengths, 0, options.trace);
  EpochTime time = epoch_time(outcomes, lengths);

  Prediction r;
  r.ranks = ranks;
  r.nodes = point.nodes;
  r.training = shares.training;
  r.threads = config.device.threads;
  r.global_batch = shares.all;
  r.samples = samples_of(point, data);
  r.steps = (r.samples + shares.all - 1) / shares.all;
  r.undisturbed_step_seconds = time.step;
  if (options.trace)
    for (RankOutcome& o : outcomes) r.traces.push_back(std::move(o.trace));
  if (const double noise = cluster.disturbance.noise; noise > 0) {
    const int64_t steps = steps_to_average(noise, ranks);
    const int64_t times = std::max<int64_t>(2, (steps + lengths.first - 1) / lengths.first);
    const Lengths many{lengths.first, lengths.first * (1 + times)};
    outcomes = run.run(many, noise, false);
    time.step = epoch_time(outcomes, many).step;
  }
  const StepCost cost = run.of_ranks().of_slowest_rank(0);
  const auto training = std::min<size_t>(outcomes.size(), static_cast<size_t>(shares.training));
  StepTimes undisturbed;
  for (size_t i = 0; i < training; ++i) {
    const StepTimes& mine = outcomes[i].times;
    r.by_rank.push_back(expected(mine, cost.typical, point.nodes > 1));
    r.times += per_step(r.by_rank.back(), static_cast<double>(training));
    undisturbed += per_step(mine, static_cast<double>(training));
  }
  const double longer =
      sum_of(undisturbed) > 0 ? sum_of(r.times) / sum_of(undisturbed) : cost.typical;
  r.step_seconds = time.step * longer;
  // The last step of an epoch may have fewer samples.
  const double whole_steps = static_cast<double>(r.samples) / static_cast<double>(shares.all);
  r.epoch_seconds = time.once * longer + whole_steps * r.step_seconds;
  r.memory = memory_of(point, data);
  const double sharing = run.of_ranks().places(0).most_sharing();
  r.oversubscribed = point.per_node * r.threads > cluster.node(0).cores || sharing > 1;
  const auto evaluation = [&](const Dataset* part) {
    return cost.typical *
           evaluation_seconds(part, cost, run.costs().rows, shares.training, cluster.speed_of(0));
  };
  const double validation = evaluation(data.validation.get());
  r.evaluation_seconds = evaluation(data.test.get());
  const TrainConfig& train = config.train;
  r.epochs = train.steps > 0 ? static_cast<double>(train.steps) / whole_steps
                             : static_cast<double>(train.epochs);
  const double evaluations =
      std::ceil(r.epochs) +
      (train.eval_every > 0
           ? std::floor(r.epochs * whole_steps / static_cast<double>(train.eval_every))
           : 0);
  r.total_seconds = r.epochs * r.epoch_seconds + evaluations * validation + r.evaluation_seconds;
  state_certainty(r, {point, data, profile, cluster, run.costs(), cost, sharing});
  return r;
}

}  // namespace lockstep
