#include "train/rank_memory.h"

#include "nn/sequence.h"

namespace lockstep {

RankMemory training_memory(const RunConfig& config, const Network& network, int64_t rows,
                           bool sparse) {
  const std::unique_ptr<Device> device = make_device(config.device);
  const Sequence sequence(*device, network.layers(), network.input(), rows, false, "", 1, sparse);
  const auto bytes = [](int64_t floats) { return static_cast<double>(floats) * sizeof(float); };
  const double trained = bytes(sequence.weight_floats());
  const KernelNeeds needs = sequence.needs();
  return {.weights = trained + bytes(sequence.state_floats()),
          .gradients = trained,
          .optimizer = trained * update_spec(config.optimizer).state_arrays(),
          .activations = static_cast<double>(needs.stash + needs.scratch) +
                         2 * bytes(rows * network.output().elements()),  // with gradients
          .data = 0};
}

}  // namespace lockstep
