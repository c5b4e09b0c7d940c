#include "sim/emulated_compute.h"

#include "sim/point/point_costs.h"

namespace lockstep {
namespace {

StepCost cost_of(const Predictor& predictor, const SimulatedPoint& point, int rank,
                 const NetworkCosts& costs) {
  return PointCosts(point, costs, predictor.profile, predictor.cluster).of_rank(rank);
}

}  // namespace

EmulatedCompute::EmulatedCompute(const Predictor& predictor, const SimulatedPoint& point, int rank)
    : EmulatedCompute(predictor, point, rank,
                      known_costs(point, predictor.data, predictor.profile)) {}

EmulatedCompute::EmulatedCompute(const Predictor& predictor, const SimulatedPoint& point, int rank,
                                 const NetworkCosts& costs)
    : clock_(predictor.cluster.speed_of(rank / point.per_node)),
      device_(cost_of(predictor, point, rank, costs), costs.rows, costs.parameters, clock_) {}

}  // namespace lockstep
