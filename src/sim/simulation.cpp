#include "sim/simulation.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/apart.h"
#include "base/buffer.h"
#include "base/error.h"
#include "sim/analytic.h"
#include "sim/costed_device.h"
#include "sim/engine.h"
#include "sim/measure.h"
#include "sim/noisy_time.h"
#include "train/epoch_feed.h"
#include "train/step_probe.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr double measuring_seconds = 1.5;
constexpr int traced_steps = 3;
constexpr double least_uncertainty = 0.03;

// What one rank of the simulated run says.
struct RankOutcome {
  double started = 0, first = 0, second = 0;  // moments: two epochs of different length
  StepTimes times;                            // of the second
  Trace trace;
};

// Two epochs, one longer, tell what an epoch costs and what each of its steps does.
struct Lengths {
  int64_t first = 2, second = 4;
};

Lengths lengths_for(const RunConfig& config, int64_t ranks, bool trace) {
  if (config.parallel.strategy == "average-weights" && config.parallel.average == "steps")
    return {config.parallel.average_steps, 2 * config.parallel.average_steps};
  return ranks >= 128 ? Lengths{1, trace ? traced_steps : 2} : Lengths{2, 4};
}

int64_t largest_share(const RunConfig& config, int64_t all, int64_t training) {
  const int64_t parts = config.parallel.mode == "reproducible" ? config.parallel.shards : training;
  return part_of(all, parts, parts - 1).size();
}

struct Shares {
  int64_t training = 1, all = 0, piece = 0;
};

int64_t samples_of(const SimulatedPoint& point, const DataSplits& data) {
  return point.samples > 0 ? point.samples : data.train->size();
}

// Others only serve them.
int training_ranks(const RunConfig& c) {
  return make_strategy(c.parallel, c.optimizer)->training_ranks(static_cast<int>(c.parallel.ranks));
}

Shares shares_of(const SimulatedPoint& point, const DataSplits& data) {
  const RunConfig& c = point.config;
  Shares s;
  s.training = training_ranks(c);
  s.all = rows_of_all(c, samples_of(point, data), s.training);
  if (s.all < s.training)
    throw UserError(
        "{} ranks are more than the {} samples of a step; use fewer ranks, or --samples for a "
        "larger data set like this one",
        s.training, s.all);
  s.piece =
      piece_size(std::max<int64_t>(1, largest_share(c, s.all, s.training)), piece_limit(c.train));
  return s;
}

std::string key_of(const SimulatedPoint& point, const DataSplits& data) {
  return network_key(point.config, data.train->sample_shape(), shares_of(point, data).piece);
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

double around_messages(const RunConfig& config, const Shares& shares, const StepCost& cost,
                       bool sparse) {
  const bool served = shares.training < config.parallel.ranks;
  if (served || (sparse && config.parallel.strategy == "scatter-gather")) return cost.serving;
  return shares.training > 1 ? cost.exchange : 0;
}

double evaluation_seconds(const Dataset* data, const StepCost& cost, int64_t piece, int64_t ranks,
                          double speed) {
  if (!data) return 0;
  double forward = cost.piece;
  for (const KernelCost& k : cost.kernels) forward += k.forward;
  const double rows = std::ceil(static_cast<double>(data->size()) / static_cast<double>(ranks));
  return rows * (forward * cost.inference / static_cast<double>(piece) + cost.load) / speed;
}

// More ranks on a node than contention was measured with.
bool is_crowded(const SimulatedPoint& point, const Profile& profile) {
  return point.per_node * point.config.device.threads > profile.cores;
}

std::vector<std::string> cautions_for(const SimulatedPoint& point, const Profile& profile,
                                      const Cluster& cluster, double largest_message) {
  std::vector<std::string> cautions;
  const int threads = point.config.device.threads;
  const NodeKind& node = cluster.kinds.front();
  if (cluster.name != "this") {
    double slowest = 1e300, quickest = 0;
    for (int i = 0; i < point.nodes; ++i) {
      slowest = std::min(slowest, cluster.node(i).speed);
      quickest = std::max(quickest, cluster.node(i).speed);
    }
    if (slowest != 1 || quickest != 1)
      cautions.push_back(fmt::format("another processor: times of {} scaled by the file's speed {}",
                                     profile.machine, slowest));
  }
  if (is_crowded(point, profile))
    cautions.push_back(
        fmt::format("{} ranks a node: contention was measured up to {} on {} cores, and is taken "
                    "to grow as the node fills",
                    point.per_node, std::max(1, profile.cores / threads), profile.cores));
  if (point.nodes > 1) cautions.push_back("links as the cluster file says, not measured");
  const auto& tables = point.config.parallel.backend == "threads" ? profile.threads : profile.mpi;
  const auto table = tables.find("all-reduce");
  if (point.per_node > 1 && table != tables.end() && largest_message > table->second.largest())
    cautions.push_back(fmt::format("messages of {:.1f} MB: up to {:.1f} MB were measured",
                                   largest_message / 1e6, table->second.largest() / 1e6));
  if (point.per_node * threads > node.cores)
    cautions.push_back("more ranks than cores: waiting ranks are taken to cost nothing");
  return cautions;
}

// How far the band reaches up, in seconds: what was measured spreads, what was not is less sure.
double uncertainty(const Prediction& r, const StepCost& cost, double speed_ratio, bool crowded) {
  double computing = std::max(cost.spread, least_uncertainty);
  if (speed_ratio != 1) computing += 0.15;
  if (r.oversubscribed) computing += 0.25;
  if (crowded) computing += 0.05;
  const double communicating = r.nodes > 1 ? 0.15 : 0.10;
  return r.times.compute * computing + r.times.load * computing +
         (r.times.exposed + r.times.waiting) * communicating;
}

}  // namespace

SimulatedPoint place_point(const RunConfig& config, const Cluster& cluster, int64_t ranks,
                           int64_t nodes, bool oversubscribe) {
  SimulatedPoint point;
  point.config = config;
  const int threads = config.device.threads, cores = cluster.kinds.front().cores;
  const int64_t slots = std::max(1, cores / threads);
  if (ranks == 0) ranks = nodes;
  if (nodes > cluster.nodes())
    throw UserError("--nodes {}: cluster '{}' has {}", nodes, cluster.name, cluster.nodes());
  if (nodes == 0) nodes = std::min<int64_t>((ranks + slots - 1) / slots, cluster.nodes());
  if (nodes > ranks) throw UserError("{} ranks cannot use {} nodes", ranks, nodes);
  point.per_node = static_cast<int>((ranks + nodes - 1) / nodes);
  point.nodes = static_cast<int>((ranks + point.per_node - 1) / point.per_node);
  if (point.per_node > slots && !oversubscribe)
    throw UserError(
        "{} ranks of {} thread{} are more than the {} cores of {} node{} of cluster '{}'; use "
        "fewer, more --nodes, or --oversubscribe",
        ranks, threads, threads == 1 ? "" : "s", nodes * cores, nodes, nodes == 1 ? "" : "s",
        cluster.name);
  if (config.parallel.backend == "threads" && point.nodes > 1)
    throw UserError(
        "ranks that are threads of one process cannot be on {} nodes; use --backend mpi",
        point.nodes);
  point.config.parallel.ranks = ranks;
  return point;
}

RankMemory memory_of(const SimulatedPoint& point, const DataSplits& data) {
  const RunConfig& c = point.config;
  const Shares shares = shares_of(point, data);
  const Network network(c.model.layers, data.train->sample_shape());
  RankMemory m = training_memory(c, network, shares.piece, data.train->sparse());
  // Images are kept as bytes, one for each value; tables as floats.
  const double values =
      static_cast<double>(samples_of(point, data) * data.train->sample_shape().elements());
  const bool parts = c.data.reading == "own-part";
  m.data = data.train->sparse() ? 0 : values * (data.train->sample_shape().is_image() ? 1 : 4);
  if (parts) m.data /= static_cast<double>(shares.training);
  return m;
}

void expect_to_fit(const SimulatedPoint& point, const RankMemory& memory, const Cluster& cluster) {
  double smallest = 1e300;
  for (int i = 0; i < point.nodes; ++i) smallest = std::min(smallest, cluster.node(i).memory);
  const double needed = memory.sum() * point.per_node;
  if (needed > smallest)
    throw UserError(
        "{} ranks a node need {:.2f} GB ({:.0f} MB each: weights {:.0f}, gradients {:.0f}, "
        "optimiser {:.0f}, activations {:.0f}, data {:.0f}), {:.2f} GB more than a node of cluster "
        "'{}' has; "
        "use fewer ranks a node (--nodes), a smaller train.micro_batch, or nodes with more memory",
        point.per_node, needed / (1 << 30), memory.sum() / 1e6, memory.weights / 1e6,
        memory.gradients / 1e6, memory.optimizer / 1e6, memory.activations / 1e6, memory.data / 1e6,
        (needed - smallest) / (1 << 30), cluster.name);
}

const NetworkCosts& costs_for(const SimulatedPoint& point, const DataSplits& data, Profile& profile,
                              bool may_measure) {
  const Shares shares = shares_of(point, data);
  const std::string key = key_of(point, data);
  const auto found = profile.networks.find(key);
  if (found != profile.networks.end() &&
      (!may_measure || !is_stale(found->second.measured, profile.version)))
    return found->second;
  if (!may_measure)
    throw UserError(
        "the profile of {} has no times for this network with {} rows; make it there with "
        "'lockstep calibrate {} --batch {}'",
        profile.machine, shares.piece, point.config.name, shares.piece);
  NetworkCosts costs = measure_costs(point.config, data, shares.piece, profile.cores,
                                     NearCores(profile.threads), measuring_seconds);
  costs.measured = time_text();
  return profile.networks[key] = std::move(costs);
}

void refine_costs(const SimulatedPoint& point, const DataSplits& data, Profile& profile,
                  double seconds) {
  const Shares shares = shares_of(point, data);
  const std::string key = key_of(point, data);
  NetworkCosts costs = measure_costs(point.config, data, shares.piece, profile.cores,
                                     NearCores(profile.threads), seconds);
  costs.measured = time_text();
  keep_quicker(profile.networks, {{key, costs}});
}

const NetworkCosts& known_costs(const SimulatedPoint& point, const DataSplits& data,
                                const Profile& profile) {
  return profile.networks.at(key_of(point, data));
}

StepCost point_cost(const SimulatedPoint& point, const NetworkCosts& costs, const Profile& profile,
                    const Cluster& cluster, int node) {
  const int threads = point.config.device.threads;
  const int before = node * point.per_node;
  const int training = std::clamp(training_ranks(point.config) - before, 1, point.per_node);
  return cost_on_node(costs, std::max(1, profile.cores / threads), training,
                      std::max(1, cluster.node(node).cores / threads));
}

void account_for_failure(Prediction& p, const RunConfig& config, const Disturbance& disturbance,
                         double checkpoint_seconds) {
  p.checkpoint_interval = std::sqrt(2 * checkpoint_seconds * disturbance.fails_at);
  if (disturbance.fails_at >= p.total_seconds) return;
  const double interval = config.train.checkpoint_every > 0
                              ? static_cast<double>(config.train.checkpoint_every) * p.step_seconds
                              : disturbance.fails_at;  // none: all is lost
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
  const Shares shares = shares_of(point, data);
  const NetworkCosts& costs = known_costs(point, data, profile);
  const Held held = real_batches(config, data, shares.piece);
  const Lengths lengths = lengths_for(config, ranks, options.trace);
  const int threads = config.device.threads;
  const SimulatedJob job{.cluster = cluster,
                         .profile = profile,
                         .nodes = cluster.place(static_cast<int>(ranks), point.per_node),
                         .threads = threads,
                         .backend = config.parallel.backend,
                         .collectives = options.collectives,
                         .moves_data = false};
  const auto cost_at = [&](int node) { return point_cost(point, costs, profile, cluster, node); };
  std::vector<RankOutcome> outcomes(static_cast<size_t>(ranks));
  const SimulatedMain rank_main = [&](SimulatedRank& rank) {
    const StepCost cost = cost_at(rank.node);
    NoisyTime time(rank.clock, cluster.disturbance.noise, rank.ranks.rank());
    CostedDevice device(cost, costs.rows, costs.parameters, time);
    StepProbe probe(config, held, shares.all, rank.ranks, device, rank.clock);
    const double a_row = options.loading ? cost.load : 0;
    const double a_piece = around_messages(config, shares, cost, held.sparse);
    probe.load_by([=, &rank](int64_t rows) {
      rank.clock.spend(a_row * static_cast<double>(rows) + a_piece);
    });
    RankOutcome& mine = outcomes[static_cast<size_t>(rank.ranks.rank())];
    if (options.trace) probe.record(mine.trace);
    probe.run(1);  // ranks find their rhythm
    mine.started = rank.clock.seconds();
    probe.run(lengths.first);
    mine.first = rank.clock.seconds();
    probe.run(lengths.second);
    mine.second = rank.clock.seconds();
    mine.times = probe.times();
  };
  if (options.engine == Engine::simgrid) {
    outcomes = unpacked(run_apart([&] {
      run_on_simgrid(job, rank_main);
      return packed(outcomes);
    }));
  } else {
    const StepCost cost = cost_at(0);
    const double update_a_float = cost.whole_update > 0
                                      ? cost.whole_update
                                      : cost.update / static_cast<double>(costs.parameters);
    expect_untouched_buffers();
    run_analytically(job, {update_a_float, cost.add}, rank_main);
    outcomes.resize(1);
  }

  Prediction r;
  r.ranks = ranks;
  r.nodes = point.nodes;
  r.training = shares.training;
  r.threads = threads;
  r.global_batch = shares.all;
  const int64_t samples = samples_of(point, data);
  r.samples = samples;
  r.steps = (samples + shares.all - 1) / shares.all;
  double started = 0, first = 0, second = 0;
  for (const RankOutcome& o : outcomes) {
    started = std::max(started, o.started);
    first = std::max(first, o.first);
    second = std::max(second, o.second);
  }
  const double short_epoch = first - started, long_epoch = second - first;
  r.step_seconds = (long_epoch - short_epoch) / static_cast<double>(lengths.second - lengths.first);
  if (!(r.step_seconds > 0)) r.step_seconds = long_epoch / static_cast<double>(lengths.second);
  const double once =
      std::max(0.0, long_epoch - static_cast<double>(lengths.second) * r.step_seconds);
  // The last step of an epoch may have fewer samples.
  const double whole_steps = static_cast<double>(samples) / static_cast<double>(shares.all);
  r.epoch_seconds = once + whole_steps * r.step_seconds;
  const auto training = std::min<size_t>(outcomes.size(), static_cast<size_t>(shares.training));
  for (size_t i = 0; i < training; ++i) {
    r.by_rank.push_back(per_step(outcomes[i].times, static_cast<double>(lengths.second)));
    r.times += per_step(r.by_rank.back(), static_cast<double>(training));
  }
  if (options.trace)
    for (RankOutcome& o : outcomes) r.traces.push_back(std::move(o.trace));
  r.memory = memory_of(point, data);
  r.oversubscribed = point.per_node * threads > cluster.node(0).cores;
  const double speed = cluster.speed_of(0);
  const StepCost cost = cost_at(0);
  const double validation =
      evaluation_seconds(data.validation.get(), cost, costs.rows, shares.training, speed);
  r.evaluation_seconds =
      evaluation_seconds(data.test.get(), cost, costs.rows, shares.training, speed);
  const TrainConfig& train = config.train;
  r.epochs = train.steps > 0 ? static_cast<double>(train.steps) / whole_steps
                             : static_cast<double>(train.epochs);
  const double evaluations =
      std::ceil(r.epochs) +
      (train.eval_every > 0
           ? std::floor(r.epochs * whole_steps / static_cast<double>(train.eval_every))
           : 0);
  r.total_seconds = r.epochs * r.epoch_seconds + evaluations * validation + r.evaluation_seconds;
  r.cautions =
      cautions_for(point, profile, cluster, static_cast<double>(costs.parameters) * sizeof(float));
  const double band =
      uncertainty(r, cost, cluster.name == "this" ? 1 : speed, is_crowded(point, profile));
  r.low = r.step_seconds * (1 - least_uncertainty);
  r.high = r.step_seconds + band;
  return r;
}

}  // namespace lockstep
