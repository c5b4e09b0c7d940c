#include "train/evaluator.h"

#include <algorithm>

#include "data/loader.h"
#include "train/batch_input.h"

namespace lockstep {

namespace {

// Calls `use` for the rows in order, in batches of this size.
void for_each_batch(const Dataset& data, Part rows, int64_t batch_rows, const UseOutputs& use) {
  BatchLoader loader(data, batch_rows, 0, false, 0);
  std::vector<int64_t> order, sizes;
  for (int64_t row = rows.begin; row < rows.end; ++row) order.push_back(row);
  for (int64_t left = rows.size(); left > 0; left -= sizes.back())
    sizes.push_back(std::min(left, batch_rows));
  loader.start(std::move(order), sizes);
  while (const Batch* batch = loader.next()) use(*batch);
}

SampleKeys keys_of(const Batch& batch) { return {.seed = 0, .epoch = 0, .ids = batch.ids}; }

// Sums of this rank's part; of a pipeline, the stage with the last layers has them.
Evaluation evaluate_part(const Dataset& data, Part rows, Replica& replica) {
  Evaluation result;
  for_each_batch(data, rows, replica.pipeline.batch(), [&](const Batch& batch) {
    replica.pipeline.pass_forward(replica.parameters, input_of(batch), batch.rows, keys_of(batch),
                                  [&](Program& program) {
                                    const LossSums part = program.loss(targets_of(batch));
                                    result.loss_sum += part.loss;
                                    result.correct += part.correct;
                                    result.samples += batch.rows;
                                    ++result.steps;
                                  });
  });
  return result;
}

}  // namespace

void run_forward(const Dataset& data, Part rows, Program& program, const Parameters& parameters,
                 const UseOutputs& use) {
  for_each_batch(data, rows, program.batch(), [&](const Batch& batch) {
    program.forward(parameters, input_of(batch), batch.rows, false, keys_of(batch));
    use(batch);
  });
}

Evaluation evaluate(const Dataset& data, Part rows, Program& program, const Parameters& parameters,
                    const Clock& clock) {
  Evaluation result{.samples = rows.size(), .answers = program.answers()};
  const double start = clock.seconds();
  run_forward(data, rows, program, parameters, [&](const Batch& batch) {
    const LossSums part = program.loss(targets_of(batch));
    result.loss_sum += part.loss;
    result.correct += part.correct;
    ++result.steps;
  });
  const double samples = static_cast<double>(rows.size());
  result.loss = result.loss_sum / samples;
  result.accuracy =
      static_cast<double>(result.correct) / (samples * static_cast<double>(result.answers));
  result.seconds = clock.seconds() - start;
  return result;
}

std::optional<Evaluation> evaluate_together(const Dataset* data, Replica& replica,
                                            Communicator& ranks, const Clock& clock) {
  // Rank 0 alone may hold the samples.
  bool someone = false, everyone = true;
  for (const int has : gather_all(ranks, data ? 1 : 0)) {
    someone = someone || has == 1;
    everyone = everyone && has == 1;
  }
  if (!someone) return std::nullopt;
  const double start = clock.seconds();
  const bool shared = replica.strategy->replicas_agree() && everyone;
  Part mine;
  if (shared) mine = part_of(data->size(), replica.mesh.data, replica.position.data);
  if (!shared && replica.position.data == 0 && data) mine = all_of(*data);
  const double began = clock.seconds();
  Evaluation part;
  if (mine.size() > 0) part = evaluate_part(*data, mine, replica);
  replica.worker.note("evaluate", began);
  struct Sums {
    double loss;
    int64_t correct, samples, steps;
  };
  Evaluation result{.answers = replica.pipeline.answers()};
  for (const Sums& s :
       gather_all(ranks, Sums{part.loss_sum, part.correct, part.samples, part.steps})) {
    result.loss_sum += s.loss;
    result.correct += s.correct;
    result.samples += s.samples;
    result.steps += s.steps;
  }
  const double samples = static_cast<double>(result.samples);
  result.loss = result.loss_sum / samples;
  result.accuracy =
      static_cast<double>(result.correct) / (samples * static_cast<double>(result.answers));
  result.seconds = clock.seconds() - start;
  return result;
}

}  // namespace lockstep
