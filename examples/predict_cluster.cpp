// Predicts the speed-up of a training on a simulated cluster.
#include <lockstep/lockstep.h>

#include <iostream>

int main() try {
  using namespace lockstep;
  const RunConfig config = find_config("mlp-3", {"data.name=mnist-sample"});
  Predictor predictor =
      make_predictor(config, {}, "1gbe-4x8", {.engine = Engine::analytic}, say_to_stderr);
  double alone = 0;
  for (const int64_t ranks : {1, 2, 4, 8, 16}) {
    const Prediction p = predictor.predict(place_point(config, predictor.cluster, ranks, 0, false));
    if (ranks == 1) alone = p.epoch_seconds;
    std::cout << ranks << " ranks: " << p.step_seconds * 1e3 << " ms per step (" << p.low * 1e3
              << " to " << p.high * 1e3 << "), speed-up " << alone / p.epoch_seconds << "\n";
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
