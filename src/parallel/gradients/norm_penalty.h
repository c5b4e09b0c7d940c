#pragma once

#include "parallel/gradients/synchronous_gradients.h"

namespace lockstep {

// A penalty on the norm of the gradient g (Zhao, Zhang and Hu, "Penalizing Gradient Norm for
// Efficiently Improving Generalization in Deep Learning", 2022): the loss to minimise is
// loss + weight × |g|. Its gradient is g + weight × H g/|g|; the product with the Hessian H is a
// difference of gradients, at the weights and at a distance of `radius` along g.
class NormPenalty {
 public:
  NormPenalty(double weight, double radius) : weight_(weight), radius_(radius) {}

  void prepare(Worker& worker);
  // Adds the penalty's part to the gradients of the step's samples, which `gradients` has just
  // computed; it computes those of the same samples again.
  void add(Worker& worker, BatchSource& source, int64_t step, SynchronousGradients& gradients,
           StepResult& result);

 private:
  double weight_, radius_;
  DeviceMemory weights_, gradients_, state_;  // before the second computation
};

}  // namespace lockstep
