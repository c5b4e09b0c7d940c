#include "train/replica.h"

#include <utility>

#include "parallel/gradients/gradient_exchange.h"

namespace lockstep {

Replica::Replica(const RunConfig& config, Communicator& ranks, Device& device, const Clock& clock,
                 const SampleForm& samples, int64_t micro_batch, InitialNetwork initial)
    : traits(traits_of(config.parallel)),
      training_ranks(lockstep::training_ranks(config.parallel, ranks.size())),
      strategy(make_strategy(config.parallel, config.optimizer)),
      network(std::move(initial.network)),
      parameters(std::move(initial.parameters)),
      program(network, config.train.loss, device, micro_batch, samples.sparse),
      optimizer(traits.averages_weights
                    ? config.optimizer
                    : update_after_exchange(config.parallel, config.optimizer, ranks.size()),
                device, parameters.weights().size()),
      worker{.groups = {.data = ranks},
             .device = device,
             .clock = clock,
             .program = program,
             .parameters = parameters,
             .optimizer = optimizer,
             .clip_norm = config.train.clip_norm} {
  network.expect_outputs(samples.outputs, samples.source);
  if (samples.sparse) parameters.expect_sparse_inputs();
}

void Replica::prepare() {
  if (!std::exchange(prepared_, true)) strategy->prepare(worker);
}

}  // namespace lockstep
