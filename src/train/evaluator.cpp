#include "train/evaluator.h"

#include <algorithm>

#include "data/loader.h"
#include "train/batch_input.h"

namespace lockstep {

void run_forward(const Dataset& data, Part rows, Program& program, const Parameters& parameters,
                 const UseOutputs& use) {
  BatchLoader loader(data, program.batch(), 0, false, 0);
  std::vector<int64_t> order, sizes;
  for (int64_t row = rows.begin; row < rows.end; ++row) order.push_back(row);
  for (int64_t left = rows.size(); left > 0; left -= sizes.back())
    sizes.push_back(std::min(left, program.batch()));
  loader.start(std::move(order), sizes);
  while (const Batch* batch = loader.next()) {
    program.forward(parameters, input_of(*batch), batch->rows, false,
                    {.seed = 0, .epoch = 0, .ids = batch->ids});
    use(*batch);
  }
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
  if (shared) mine = part_of(data->size(), ranks.size(), ranks.rank());
  if (!shared && ranks.rank() == 0) mine = all_of(*data);
  const double began = clock.seconds();
  Evaluation part;
  if (mine.size() > 0) part = evaluate(*data, mine, replica.program, replica.parameters, clock);
  replica.worker.note("evaluate", began);
  struct Sums {
    double loss;
    int64_t correct, samples, steps;
  };
  Evaluation result{.answers = replica.program.answers()};
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
