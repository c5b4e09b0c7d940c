#include "parallel/worker.h"

#include <algorithm>
#include <cmath>

#include "parallel/pipeline/stages.h"

namespace lockstep {

void Worker::gradients(BatchSource& source, int64_t rows, int64_t divisor, bool accumulate,
                       StepResult& result, GradientBuckets* buckets) {
  if (rows == 0 && !accumulate) {
    device.fill(parameters.gradients(), 0);
    if (parameters.touched()) parameters.touched()->clear();
  }
  result.rows += rows;
  if (rows == 0) {
    if (buckets) buckets->arm(StepTail::of(result));
    return;
  }
  pipeline.gradients(parameters, source,
                     {.rows = rows,
                      .divisor = divisor,
                      .accumulate = accumulate,
                      .buckets = buckets,
                      .trace = trace},
                     clock, result);
}

void Worker::share_touched() {
  TouchedRows* touched = parameters.touched();
  if (!touched || groups.data.size() == 1) return;
  const std::vector<int32_t> mine(touched->list().begin(), touched->list().end());
  std::vector<int64_t> counts;
  int64_t all = 0;
  for (const int64_t count : gather_all(groups.data, static_cast<int64_t>(mine.size()))) {
    counts.push_back(count * int64_t{sizeof(int32_t)});
    all += count;
  }
  std::vector<int32_t> rows(static_cast<size_t>(all));
  groups.data
      .all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(rows)), counts)
      .wait();
  touched->add(rows);
}

void Worker::reduce_touched(const Reduce& reduce) {
  if (!parameters.touched() || groups.data.size() == 1) return;
  share_touched();
  const std::span<float> gradients = parameters.gradients();
  std::vector<std::span<float>> touched;  // the same on all ranks
  size_t floats = 0, at = 0;
  for (const auto [begin, count] : parameters.active())
    if (begin < parameters.dense_begin()) {
      touched.push_back(gradients.subspan(begin, count));
      floats += count;
    }
  if (packed.bytes() < floats * sizeof(float)) {
    packed = device.allocate(2 * floats * sizeof(float));
    packed_on_host = {&device, packed.floats()};
  }
  const std::span<float> travelling = packed.floats().first(floats);
  for (const std::span<float> rows : touched) {
    device.copy(rows, travelling.subspan(at, rows.size()));
    at += rows.size();
  }
  reduce(packed_on_host.download(0, floats)).wait();
  packed_on_host.upload(0, floats);
  at = 0;
  for (const std::span<float> rows : touched) {
    device.copy(travelling.subspan(at, rows.size()), rows);
    at += rows.size();
  }
}

void Worker::expect_finite(const StepResult& result) const {
  const double rows = static_cast<double>(std::max<int64_t>(1, result.rows));
  if (checks_numbers && !(std::isfinite(result.loss) && std::isfinite(result.gradient_norm)))
    throw NotFinite(result.loss / rows, result.gradient_norm);
}

double Worker::gradient_norm(StepResult& result) {
  if (pipeline.alone()) return optimizer.gradient_norm(parameters);
  share_borrowed_tensor(*this);
  return stages_together(*this, result);
}

void Worker::update(StepResult& result) {
  const double start = clock.seconds();
  result.gradient_norm = gradient_norm(result);
  expect_finite(result);
  const bool clipped = clip_norm > 0 && result.gradient_norm > clip_norm;
  optimizer.step(parameters, static_cast<float>(result.learning_rate),
                 static_cast<float>(clipped ? clip_norm / result.gradient_norm : 1));
  note("update", start);
  result.times.compute += clock.seconds() - start;
}

int64_t bytes_per_step(const Parameters& parameters, bool whole_arrays) {
  size_t floats = 0;
  if (whole_arrays)
    floats = parameters.weights().size();
  else
    for (const auto [begin, count] : parameters.active()) floats += count;
  return static_cast<int64_t>(floats * sizeof(float));
}

}  // namespace lockstep
