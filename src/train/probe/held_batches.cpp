#include "train/probe/held_batches.h"

#include <algorithm>

#include "base/rng.h"
#include "data/loader.h"
#include "nn/network.h"
#include "train/shares.h"

namespace lockstep {

namespace {

HeldBatches batches_of(const RunConfig& config, const DataSplits& data, int64_t rows,
                       int64_t micro_batch) {
  const int64_t size = data.train->size();
  HeldBatches held{.provenance = data.provenance,
                   .shape = data.train->sample_shape(),
                   .classes = data.train->outputs(),
                   .sparse = data.train->sparse(),
                   .samples = size,
                   .rows = rows,
                   .micro_batch = micro_batch,
                   .batches = std::vector<Batch>(
                       static_cast<size_t>(std::clamp<int64_t>(size / micro_batch, 1, 8)))};
  BatchLoader loader(*data.train, micro_batch, static_cast<uint64_t>(config.seed), true, 0);
  loader.start_epoch(1);
  for (Batch& one : held.batches) one = *loader.next();
  return held;
}

}  // namespace

HeldBatches real_batches(const RunConfig& config, const DataSplits& data, int64_t rows) {
  rows = std::min(rows, data.train->size());
  return batches_of(config, data, rows, micro_batch_rows(config, rows));
}

HeldBatches real_micro_batches(const RunConfig& config, const DataSplits& data, int64_t rows) {
  rows = std::min(rows, data.train->size());
  return batches_of(config, data, rows, rows);
}

HeldBatches noise_batches(const RunConfig& config, const Shape& shape) {
  const int64_t rows = std::max<int64_t>(1, config.train.batch * config.train.accumulate);
  const Shape output = Network(config.model.layers, shape).output();
  const bool tokens = output.is_sequence();
  HeldBatches held{.provenance = "noise",
                   .shape = shape,
                   .classes = tokens ? output.channels() : output.elements(),
                   .samples = rows * config.parallel.ranks,
                   .rows = rows,
                   .micro_batch = micro_batch_rows(config, rows),
                   .batches = std::vector<Batch>(4)};
  Rng rng(static_cast<uint64_t>(config.seed), Purpose::split);
  for (Batch& one : held.batches) {
    one.rows = held.micro_batch;
    one.x.resize(static_cast<size_t>(one.rows * shape.elements()));
    const auto classes = static_cast<uint64_t>(held.classes);
    for (float& value : one.x)
      value = static_cast<float>(tokens ? static_cast<double>(rng.below(classes)) : rng.normal());
    for (int64_t i = 0; i < one.rows; ++i) one.ids.push_back(i);
    for (int64_t i = 0; i < one.rows * (tokens ? output.positions() : 1); ++i)
      one.labels.push_back(static_cast<int32_t>(rng.below(classes)));
  }
  return held;
}

}  // namespace lockstep
