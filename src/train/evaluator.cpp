#include "train/evaluator.h"

#include "data/loader.h"

namespace lockstep {

void run_forward(const Dataset& data, Program& program, const Parameters& parameters,
                 const UseOutputs& use) {
  BatchLoader loader(data, program.batch(), 0, false, 0);
  loader.start_epoch(0);
  while (const Batch* batch = loader.next())
    use(*batch, program.forward(parameters, batch->x.data(), batch->rows, false,
                                {.seed = 0, .epoch = 0, .ids = batch->ids}));
}

Evaluation evaluate(const Dataset& data, Program& program, const Parameters& parameters,
                    const Clock& clock) {
  Evaluation result;
  const double start = clock.seconds();
  LossSums sums;
  run_forward(data, program, parameters, [&](const Batch& batch, std::span<const float>) {
    const LossSums part = program.loss({.labels = batch.labels, .values = {}});
    sums.loss += part.loss;
    sums.correct += part.correct;
    ++result.steps;
  });
  result.samples = data.size();
  result.loss = sums.loss / static_cast<double>(data.size());
  result.accuracy = static_cast<double>(sums.correct) / static_cast<double>(data.size());
  result.seconds = clock.seconds() - start;
  return result;
}

}  // namespace lockstep
