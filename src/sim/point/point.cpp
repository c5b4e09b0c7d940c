#include "sim/point/point.h"

#include <algorithm>

#include "base/error.h"
#include "parallel/strategy.h"
#include "train/initial_network.h"
#include "train/shares.h"

namespace lockstep {

int SimulatedPoint::threads() const {
  return node_cores > 0 ? std::min(config.device.threads, node_cores) : config.device.threads;
}

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
  if (point.per_node * threads > cores && !oversubscribe)
    throw UserError(
        "{} rank{} of {} thread{} are more than the {} cores of {} node{} of cluster '{}'; use "
        "fewer, more --nodes, or --oversubscribe",
        ranks, ranks == 1 ? "" : "s", threads, threads == 1 ? "" : "s", nodes * cores, nodes,
        nodes == 1 ? "" : "s", cluster.name);
  if (config.parallel.backend == Backend::threads && point.nodes > 1)
    throw UserError(
        "ranks that are threads of one process cannot be on {} nodes; use --backend mpi",
        point.nodes);
  point.config.parallel.ranks = ranks;
  point.node_cores = cores;
  return point;
}

int64_t samples_of(const SimulatedPoint& point, const DataSplits& data) {
  return point.samples > 0 ? point.samples : data.train->size();
}

Shares shares_of(const SimulatedPoint& point, const DataSplits& data) {
  const RunConfig& c = point.config;
  if (c.parallel.pipeline > 1)  // may be impossible
    network_parts(c, Network(c.model.layers, data.train->sample_shape()));
  Shares s;
  s.training = training_replicas(c.parallel, static_cast<int>(c.parallel.ranks));
  s.all = rows_per_step(c, samples_of(point, data), s.training);
  if (s.all < s.training)
    throw UserError("{} ranks are more than the {} samples of {}; use fewer ranks{}", s.training,
                    s.all, s.all == samples_of(point, data) ? "an epoch" : "a step",
                    s.all == samples_of(point, data)
                        ? ", or --samples for a larger data set like this one"
                        : ", or a larger train.batch");
  s.micro_batch =
      micro_batch_rows(c, std::max<int64_t>(1, largest_shard_rows(c, s.all, s.training)));
  return s;
}

RankMemory memory_of(const SimulatedPoint& point, const DataSplits& data) {
  const RunConfig& c = point.config;
  const Shares shares = shares_of(point, data);
  const Network network(c.model.layers, data.train->sample_shape());
  RankMemory m = training_memory(c, network, shares.micro_batch, data.train->sparse());
  // Images are held as bytes, one per value; tables as floats.
  const double values =
      static_cast<double>(samples_of(point, data) * data.train->sample_shape().elements());
  const bool parts = c.data.reading == Reading::own_part;
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
        "{} ranks per node need {:.2f} GB ({:.0f} MB each: weights {:.0f}, gradients {:.0f}, "
        "optimiser {:.0f}, activations {:.0f}, data {:.0f}), {:.2f} GB more than a node of cluster "
        "'{}' has; use fewer ranks per node (--nodes), a smaller train.micro_batch, or nodes with "
        "more memory",
        point.per_node, needed / (1 << 30), memory.sum() / 1e6, memory.weights / 1e6,
        memory.gradients / 1e6, memory.optimizer / 1e6, memory.activations / 1e6, memory.data / 1e6,
        (needed - smallest) / (1 << 30), cluster.name);
}

}  // namespace lockstep
