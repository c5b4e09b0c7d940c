#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nn/parameters.h"
#include "tensor/device.h"

namespace lockstep {

// The [optimizer] section of a configuration.
struct OptimizerConfig {
  std::string name = "adam";
  double lr = 0.001;
  double momentum = 0.9;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double norm_penalty = 0;            // weight of the gradient's norm in the loss; 0: none
  double norm_penalty_radius = 0.01;  // distance at which the penalty's gradient is computed
  int64_t history = 10;               // lbfgs: pairs of changes that are kept
  int64_t iterations = 10;            // lbfgs: per batch
};

std::vector<std::string> optimizer_names();
// lbfgs: of plain gradient descent; the strategy makes the steps.
UpdateSpec update_spec(const OptimizerConfig& config);
// Whether each step is a search for lower losses along a line (optim/lbfgs.h), instead of an update
// from one gradient.
bool is_lbfgs(const OptimizerConfig& config);

// One fused pass over the arena per step. Its state between steps are arrays of the same length.
class Optimizer {
 public:
  Optimizer(const OptimizerConfig& config, Device& device, size_t weights);

  // A step in parts: begin_step(), then an update of each part. Gradients are multiplied by `scale`
  // first (clipping). `begin`: offset of the part.
  void begin_step() { ++steps_; }
  void update(std::span<float> weights, std::span<const float> gradients, size_t begin, float lr,
              float scale);
  // The whole arrays.
  void step(std::span<float> weights, std::span<const float> gradients, float lr, float scale);
  // The same, only for weights that have gradients: with sparse inputs, rows that were not touched
  // keep their weights and state (as in PyTorch's SparseAdam).
  void step(const Parameters& parameters, float lr, float scale);
  int64_t steps() const { return steps_; }

  // Norm of all gradients: sums of squares per tensor, added in the order of tensors.
  double gradient_norm(const Parameters& parameters);
  // Its terms: a sum of squares per tensor, and what is added before them (touched rows of sparse
  // inputs).
  double squares(const Parameters& parameters, std::vector<double>& tensor_sums);

  // State arrays, for checkpoints.
  std::span<const HostMirror> arrays() const { return mirrors_; }
  void set_steps(int64_t steps) { steps_ = steps; }

 private:
  Device& device_;
  UpdateSpec spec_;
  std::unique_ptr<UpdateKernel> update_;
  std::vector<DeviceMemory> state_;
  std::vector<std::span<float>> views_;
  std::vector<HostMirror> mirrors_;
  std::vector<double> tensor_sums_;
  int64_t steps_ = 0;
};

}  // namespace lockstep
