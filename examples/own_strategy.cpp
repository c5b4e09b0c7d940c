// A custom strategy, "sign-sgd": ranks exchange only the signs of their gradients and update with
// the sign of the sum, as in 1-bit compression.
#include <lockstep/lockstep.h>

#include <iostream>

namespace {

using namespace lockstep;

class SignSgd final : public Strategy {
 public:
  StepResult step(Worker& worker, BatchSource& source, const StepPlan& plan) override {
    StepResult result{.step = plan.step + 1, .learning_rate = plan.learning_rate};
    const StepShare& share = source.share(plan.step);
    worker.gradients(source, share.mine, share.all, false, result);
    result.times.compute = result.gradient_seconds;
    const HostMirror& mirror = worker.parameters.gradients_on_host();
    const std::span<float> gradients = mirror.download();
    for (float& g : gradients) g = static_cast<float>((g > 0) - (g < 0));
    const double start = worker.clock.seconds();
    worker.groups.data.all_reduce(gradients, gradients).wait();
    result.times.exposed = worker.clock.seconds() - start;
    for (float& g : gradients) g = static_cast<float>((g > 0) - (g < 0));
    mirror.upload();
    worker.update(result);
    return result;
  }
};

}  // namespace

int main() try {
  add_strategy({"sign-sgd", "signs of gradients are summed",
                [](const ParallelConfig&) { return StrategyTraits{.global_results = false}; },
                [](const ParallelConfig&, const OptimizerConfig&) -> std::unique_ptr<Strategy> {
                  return std::make_unique<SignSgd>();
                }});
  RunConfig config =
      find_config("mlp-1", {"data.name=mnist-sample", "train.epochs=4", "optimizer.name=sgd",
                            "optimizer.lr=0.0005", "parallel.strategy=sign-sgd", "parallel.ranks=2",
                            "parallel.backend=threads"});
  const auto trained = train(config, {.out = "runs/own-strategy", .force = true});
  std::cout << "test accuracy " << trained->summary.test->accuracy << "\n";
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
