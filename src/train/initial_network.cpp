#include "train/initial_network.h"

#include "base/error.h"
#include "nn/files/hugging_face.h"
#include "parallel/mesh/mesh.h"
#include "parallel/pipeline/partition.h"
#include "parallel/pipeline/pipeline.h"
#include "train/checkpoint/snapshot.h"

namespace lockstep {
namespace {

// Copies the tensors that `mine` has from those of the whole network.
void take_part(const Parameters& whole, Parameters& mine) {
  const auto take = [](const std::vector<Parameters::Entry>& from, const HostMirror& values,
                       const std::vector<Parameters::Entry>& to, const HostMirror& into) {
    for (const Parameters::Entry& entry : to)
      Parameters::write(entry, Parameters::read(from[entry.index], values), into);
  };
  take(whole.entries(), whole.weights_on_host(), mine.entries(), mine.weights_on_host());
  take(whole.state_entries(), whole.state_on_host(), mine.state_entries(), mine.state_on_host());
}

}  // namespace

std::vector<LayerRange> network_parts(const RunConfig& config, const Network& network) {
  const int64_t parts = config.parallel.pipeline > 1
                            ? config.parallel.pipeline * config.parallel.chunks_per_stage()
                            : 1;
  if (parts > Pipeline::most_parts)
    throw UserError("parallel.pipeline x parallel.chunks = {} is not possible; use at most {}",
                    parts, Pipeline::most_parts);
  return parts_of(network, static_cast<size_t>(parts));
}

InitialNetwork::InitialNetwork(const RunConfig& config, const Shape& sample, Device& device,
                               int ranks, int rank)
    : network(config.model.layers, sample),
      parts(network_parts(config, network)),
      parameters(network, device,
                 Pipeline::layers_of(parts, static_cast<int>(config.parallel.pipeline),
                                     position_of(mesh_of(config.parallel, ranks), rank).stage)) {}

void InitialNetwork::set_weights(const RunConfig& config) {
  const std::string& from = config.model.from;
  parameters.initialise(config.model.init, static_cast<uint64_t>(config.seed), from.empty());
  if (from.empty()) return;
  if (parts.size() == 1) {
    load_gpt2(from, parameters);
  } else {
    Parameters whole(network);
    whole.initialise(config.model.init, static_cast<uint64_t>(config.seed), false);
    load_gpt2(from, whole);
    take_part(whole, parameters);
  }
  if (!all_finite(parameters.weights_on_host()))
    throw UserError("{} holds weights that are not numbers (NaN or infinite)", from);
}

}  // namespace lockstep
