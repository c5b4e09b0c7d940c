#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/point/simulation.h"
#include "sim/validation.h"

namespace lockstep {

nlohmann::ordered_json to_json(const Prediction& prediction);
// Speed-ups are relative to `baseline`.
void print_predictions(const std::vector<SimulatedPoint>& points,
                       const std::vector<Prediction>& predictions, const Prediction& baseline);
void print_cautions(const std::vector<Prediction>& predictions);
void print_validation(const std::vector<Validated>& all, bool json);

// `summaries`: the content of summary.json of runs simulated with numerics.
void print_numerics(const std::vector<nlohmann::ordered_json>& summaries);

}  // namespace lockstep
