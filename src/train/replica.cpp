#include "train/replica.h"

#include <utility>

#include "parallel/gradients/gradient_exchange.h"

namespace lockstep {

Pipeline::Plan pipeline_plan(const RunConfig& config, const std::vector<LayerRange>& parts,
                             const StepForm& step, bool sparse) {
  return {.schedule = config.parallel.schedule,
          .chunks = parts.size() == 1 ? 1 : config.parallel.chunks_per_stage(),
          .parts = parts,
          .batch = step.micro_batch,
          .micro_batches = step.micro_batches,
          .loss = config.train.loss,
          .sparse = sparse};
}

Replica::Replica(const RunConfig& config, Communicator& ranks, Device& device, const Clock& clock,
                 const SampleForm& samples, const StepForm& step, InitialNetwork initial)
    : mesh(mesh_of(config.parallel, ranks.size())),
      position(position_of(mesh, ranks.rank())),
      groups(mesh, ranks),
      traits(traits_of(config.parallel)),
      training_ranks(training_replicas(config.parallel, ranks.size())),
      strategy(make_strategy(config.parallel, config.optimizer)),
      network(std::move(initial.network)),
      parts(std::move(initial.parts)),
      parameters(std::move(initial.parameters)),
      pipeline(network, pipeline_plan(config, parts, step, samples.sparse),
               groups.groups().pipeline, device),
      optimizer(traits.averages_weights
                    ? config.optimizer
                    : update_after_exchange(config.parallel, config.optimizer, mesh.data),
                device, parameters.weights().size()),
      worker{.groups = groups.groups(),
             .device = device,
             .clock = clock,
             .pipeline = pipeline,
             .parameters = parameters,
             .optimizer = optimizer,
             .clip_norm = config.train.clip_norm} {
  network.expect_outputs(samples.outputs, samples.source);
  if (samples.sparse && position.stage == 0) parameters.expect_sparse_inputs();
}

void Replica::prepare() {
  if (!std::exchange(prepared_, true)) strategy->prepare(worker);
}

}  // namespace lockstep
