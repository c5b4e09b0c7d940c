#include "optim/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/nearest.h"

namespace lockstep {
namespace {

struct Named {
  const char* name;
  UpdateKind kind;
  bool searches_lines = false;
};
constexpr Named updates[] = {{"sgd", UpdateKind::sgd},           {"momentum", UpdateKind::momentum},
                             {"nesterov", UpdateKind::nesterov}, {"adagrad", UpdateKind::adagrad},
                             {"adam", UpdateKind::adam},         {"adamw", UpdateKind::adamw},
                             {"lbfgs", UpdateKind::sgd, true}};

}  // namespace

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const Named& update : updates) names.emplace_back(update.name);
  return names;
}

UpdateSpec update_spec(const OptimizerConfig& config) {
  for (const Named& update : updates)
    if (config.name == update.name)
      return {.kind = update.kind,
              .momentum = static_cast<float>(config.momentum),
              .beta1 = static_cast<float>(config.beta1),
              .beta2 = static_cast<float>(config.beta2),
              .epsilon = static_cast<float>(config.epsilon),
              .weight_decay = static_cast<float>(config.weight_decay)};
  throw UserError("optimizer.name = \"{}\" is not known; {}", config.name,
                  suggestion(config.name, optimizer_names()));
}

bool is_lbfgs(const OptimizerConfig& config) {
  return std::ranges::any_of(updates, [&](const Named& update) {
    return update.searches_lines && config.name == update.name;
  });
}

Optimizer::Optimizer(const OptimizerConfig& config, Device& device, size_t weights)
    : device_(device), spec_(update_spec(config)), update_(device.prepare(spec_)) {
  for (int i = 0; i < spec_.state_arrays(); ++i) {
    state_.push_back(device.allocate(weights * sizeof(float)));
    views_.push_back(state_.back().floats());
    mirrors_.emplace_back(&device, views_.back());
  }
}

void Optimizer::update(std::span<float> weights, std::span<const float> gradients, size_t begin,
                       float lr, float scale) {
  std::array<std::span<float>, 2> state;
  for (size_t i = 0; i < views_.size(); ++i) state[i] = views_[i].subspan(begin, weights.size());
  update_->run(weights, gradients, std::span(state).first(views_.size()), steps_, lr, scale);
}

void Optimizer::step(std::span<float> weights, std::span<const float> gradients, float lr,
                     float scale) {
  begin_step();
  update(weights, gradients, 0, lr, scale);
}

void Optimizer::step(const Parameters& parameters, float lr, float scale) {
  begin_step();
  for (const auto [begin, count] : parameters.active())
    update(parameters.weights().subspan(begin, count), parameters.gradients().subspan(begin, count),
           begin, lr, scale);
}

double Optimizer::gradient_norm(const Parameters& parameters) {
  double squares = this->squares(parameters, tensor_sums_);
  for (const double sum : tensor_sums_) squares += sum;
  return std::sqrt(squares);
}

double Optimizer::squares(const Parameters& parameters, std::vector<double>& tensor_sums) {
  const std::span<const float> gradients = parameters.gradients();
  std::span<const size_t> ends = parameters.tensor_ends();
  tensor_sums.assign(ends.size(), 0);
  double squares = 0;
  std::vector<size_t> ends_of_rest;
  if (const size_t rest = parameters.dense_begin(); rest > 0) {  // touched rows of the first tensor
    for (const auto [begin, count] : parameters.active()) {
      if (begin >= rest) continue;
      double sum = 0;
      device_.squared_norms(gradients.subspan(begin, count), {&count, 1}, {&sum, 1});
      squares += sum;
    }
    for (const size_t end : ends) ends_of_rest.push_back(end - rest);
    ends = ends_of_rest;
  }
  device_.squared_norms(gradients.subspan(parameters.dense_begin()), ends, tensor_sums);
  return squares;
}

}  // namespace lockstep
