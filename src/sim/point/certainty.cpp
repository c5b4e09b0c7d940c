#include "sim/point/certainty.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {
namespace {

// Shares of a step's time by which a prediction may be wrong. The first is measured: nine out of
// ten predictions on the machine that was measured were within it (docs/validation.md). The others
// are estimates, added where a prediction rests on something that was not measured.
constexpr double model_error = 0.06;
constexpr double other_processor_error = 0.15;  // speed comes from the cluster file
constexpr double oversubscribed_error = 0.25;   // ranks are assumed to share cores evenly
constexpr double crowded_error = 0.05;          // contention beyond the measured number of ranks
constexpr double extrapolated_error = 0.15;     // more threads than were measured
constexpr double message_error = 0.10;          // of communication within a node
constexpr double network_error = 0.15;          // of communication between nodes

// Whether a node has more ranks than contention was measured with.
bool is_crowded(const SimulatedPoint& point, const Profile& profile) {
  return point.per_node > 1 && point.per_node * point.threads() > profile.cores;
}

const Quietness& quietness_of_messages(const PredictedFrom& from) {
  const bool threads = from.point.config.parallel.backend == Backend::threads;
  return threads ? from.profile.threads_quietness : from.profile.mpi_quietness;
}

bool sends_within_a_node(const PredictedFrom& from) { return from.point.per_node > 1; }

std::string disturbed_by(const std::string& what, const Quietness& quietness) {
  return fmt::format(
      "{} measured while the machine was busy: {}; the prediction may be up to {:.1f} times too "
      "long; repeat it when the machine is idle (--recalibrate)",
      what, quietness.why, quietness.slowdown);
}

std::vector<std::string> cautions_for(const PredictedFrom& from, const Prediction& r) {
  const auto& [point, data, profile, cluster, costs, cost, sharing] = from;
  std::vector<std::string> cautions;
  const int threads = point.threads();
  const std::string& affinity = point.config.parallel.affinity;
  if (!costs.quietness.quiet())
    cautions.push_back(disturbed_by("this network was", costs.quietness));
  if (sends_within_a_node(from) && !quietness_of_messages(from).quiet())
    cautions.push_back(disturbed_by("messages between ranks were", quietness_of_messages(from)));
  if (point.config.parallel.ranks > 1 && r.undisturbed_step_seconds < short_step)
    cautions.emplace_back(
        "steps below 0.1 ms: the software overhead of messages, which is not part of the "
        "prediction, may take as long as the step itself");
  if (r.extrapolated)
    cautions.push_back(fmt::format(
        "{} threads per rank: 1 and {} were measured on {} cores, the rest is "
        "extrapolated by Amdahl's law ({:.0f}% of a step does not get faster with "
        "threads)",
        threads, profile.cores, profile.cores, known_scaling(point, data, profile).serial * 100));
  if (!cluster.is_this_machine) {
    double slowest = 1e300, fastest = 0;
    for (int i = 0; i < point.nodes; ++i) {
      slowest = std::min(slowest, cluster.node(i).speed);
      fastest = std::max(fastest, cluster.node(i).speed);
    }
    if (slowest != 1 || fastest != 1)
      cautions.push_back(
          fmt::format("another processor: times measured on {} are divided by the cluster file's "
                      "node.speed ({})",
                      profile.machine, slowest));
  }
  if (is_crowded(point, profile))
    cautions.push_back(fmt::format(
        "{} ranks per node: contention was measured with up to {} on {} cores; a full node is "
        "assumed to slow down as much as the measured machine does when it is full",
        point.per_node, std::max(1, profile.cores / threads), profile.cores));
  if (point.nodes > 1)
    cautions.push_back("network speeds are those of the cluster file; they were not measured");
  const auto& tables =
      point.config.parallel.backend == Backend::threads ? profile.threads : profile.mpi;
  const auto table = tables.find("all-reduce");
  const double largest_message = static_cast<double>(costs.parameters) * sizeof(float);
  if (sends_within_a_node(from) && table != tables.end() &&
      largest_message > table->second.largest())
    cautions.push_back(
        fmt::format("messages of {:.1f} MB are extrapolated: up to {:.1f} MB were measured",
                    largest_message / 1e6, table->second.largest() / 1e6));
  if (sharing > 1)
    cautions.push_back(fmt::format(
        "parallel.affinity = \"{}\" puts {:.1f} threads on a core: ranks are assumed to "
        "take turns there all the time, also while they wait",
        affinity, sharing));
  else if (r.oversubscribed)
    cautions.push_back(
        "more ranks than cores: ranks that wait are assumed to leave their core to others");
  if (!affinity_matters(affinity, cluster))
    cautions.push_back(fmt::format(
        "parallel.affinity = \"{}\" makes no difference to the prediction: nodes have one socket "
        "(node.sockets), and simulated ranks never move",
        affinity));
  else if (cluster.kinds.front().sockets > 1 && sends_within_a_node(from))
    cautions.push_back(
        "messages between sockets are assumed to take as long as those within a socket");
  return cautions;
}

}  // namespace

void state_certainty(Prediction& r, const PredictedFrom& from) {
  const auto& [point, data, profile, cluster, costs, cost, sharing] = from;
  r.extrapolated = has_too_few_cores(profile, point);
  double slowdown = costs.quietness.slowdown;
  r.disturbed = !costs.quietness.quiet();
  if (sends_within_a_node(from)) {
    r.disturbed = r.disturbed || !quietness_of_messages(from).quiet();
    slowdown = std::max(slowdown, quietness_of_messages(from).slowdown);
  }
  r.cautions = cautions_for(from, r);

  double unsure = model_error;
  if (!cluster.is_this_machine && cluster.speed_of(0) != 1) unsure += other_processor_error;
  if (r.oversubscribed) unsure += oversubscribed_error;
  if (is_crowded(point, profile)) unsure += crowded_error;
  if (r.extrapolated) unsure += extrapolated_error;
  const double computing = r.times.compute + r.times.load;
  const double communicating =
      (r.times.exposed + r.times.waiting) * (r.nodes > 1 ? network_error : message_error) +
      computing * unsure;
  const double below = computing * (1 - cost.low / cost.typical) + communicating;
  const double above = computing * (cost.high / cost.typical - 1) + communicating;
  r.low = std::max(0.0, r.step_seconds - below) / slowdown;
  r.high = r.step_seconds + above;
}

}  // namespace lockstep
