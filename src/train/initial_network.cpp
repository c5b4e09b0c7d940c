#include "train/initial_network.h"

#include "base/error.h"
#include "nn/files/hugging_face.h"
#include "train/checkpoint/snapshot.h"

namespace lockstep {

InitialNetwork::InitialNetwork(const RunConfig& config, const Shape& sample, Device& device)
    : network(config.model.layers, sample), parameters(network, device) {}

void InitialNetwork::set_weights(const RunConfig& config) {
  const std::string& from = config.model.from;
  parameters.initialise(config.model.init, static_cast<uint64_t>(config.seed), from.empty());
  if (from.empty()) return;
  load_gpt2(from, parameters);
  if (!all_finite(parameters.weights_on_host()))
    throw UserError("{} holds weights that are not numbers (NaN or infinite)", from);
}

}  // namespace lockstep
