#include "data/load.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/with_commas.h"
#include "data/datasets/subset.h"
#include "data/permutation.h"
#include "data/sources/registry.h"
#include "data/split.h"

namespace lockstep {
namespace {

// One random stream per part: drawing one part does not advance the streams of the others.
enum Stream : uint64_t { test_stream = 0, validation_stream = 1, limit_stream = 2 };

struct Rows {
  std::vector<int64_t> train, validation, test;
};

Rows cut(const SourceData& source, const DataConfig& config, uint64_t seed) {
  const RawDataset& samples = *source.samples;
  Rows rows;
  const auto take = [&](double asked, const char* key, Stream stream) {
    const int64_t count = part_size(asked, static_cast<int64_t>(rows.train.size()), key);
    return take_part(rows.train, count, samples, config.stratified,
                     Rng(seed, Purpose::split, stream));
  };
  rows.train = natural_order(samples.size());
  if (source.is_cut) {
    const auto validation = rows.train.begin() + source.train_rows;
    const auto test = validation + source.validation_rows;
    rows.validation.assign(validation, test);
    rows.test.assign(test, rows.train.end());
    rows.train.erase(validation, rows.train.end());
  } else if (config.test != 0 && config.splitter == Splitter::scikit_learn) {
    if (seed > UINT32_MAX)
      throw UserError("scikit-learn takes a random_state up to {}, not {}; set data.split_seed",
                      UINT32_MAX, seed);
    if (config.stratified)
      throw UserError(
          "data.splitter = \"scikit-learn\" takes rows regardless of their class; set "
          "data.stratified = false, or data.splitter = \"lockstep\"");
    rows.test =
        take_part_as_scikit_learn(rows.train, part_size(config.test, samples.size(), "data.test"),
                                  static_cast<uint32_t>(seed));
  } else if (config.test != 0) {
    rows.test = take(config.test, "data.test", test_stream);
  } else {
    const auto border = rows.train.begin() + source.train_rows;
    rows.test.assign(border, rows.train.end());
    rows.train.erase(border, rows.train.end());
  }
  if (config.validation != 0 && !source.is_cut)
    rows.validation = take(config.validation, "data.validation", validation_stream);
  const auto left = static_cast<int64_t>(rows.train.size());
  if (config.limit < 0 || config.limit > left)
    throw UserError(
        "data.limit = {} is not possible with {} training samples; expected 0 (all) to {}",
        config.limit, with_commas(left), left);
  if (config.limit > 0)
    rows.train = take_part(rows.train, config.limit, samples, config.stratified,
                           Rng(seed, Purpose::split, limit_stream));
  return rows;
}

std::unique_ptr<Dataset> part(const std::shared_ptr<const Dataset>& whole,
                              std::vector<int64_t> rows) {
  if (rows.empty()) return nullptr;
  return std::make_unique<Subset>(whole, std::move(rows));
}

std::string split_text(const DataConfig& config, const Rows& rows, uint64_t seed) {
  if (config.test == 0 && config.validation == 0 && config.limit == 0) return "";
  return fmt::format(
      ", split{}{} by seed {} into {} train, {} validation, {} test",
      config.stratified ? " by class" : "",
      config.splitter == Splitter::lockstep ? "" : fmt::format(" as {}", to_text(config.splitter)),
      seed, with_commas(static_cast<int64_t>(rows.train.size())),
      with_commas(static_cast<int64_t>(rows.validation.size())),
      with_commas(static_cast<int64_t>(rows.test.size())));
}

// Throws a UserError for settings that need samples of other ranks.
void check_own_part(const DataConfig& config) {
  const std::vector<std::string> able = {"mnist", "fashion-mnist", "mnist-sample", "idx",
                                         "cifar-10"};
  if (std::find(able.begin(), able.end(), config.name) == able.end())
    throw UserError(
        "data.reading = \"own-part\" needs IDX or CIFAR-10 files; data.name = \"{}\" can only be "
        "read whole (data.reading = \"all\")",
        config.name);
  if (config.test != 0 || config.validation != 0 || config.limit != 0)
    throw UserError(
        "data.reading = \"own-part\" cannot split the data again; remove data.test, "
        "data.validation and data.limit, or use data.reading = \"all\"");
  if (config.normalize == Normalize::standardize)
    throw UserError(
        "data.normalize = \"standardize\" needs all samples, but with data.reading = \"own-part\" "
        "a rank reads only its part; use \"unit\"");
}

}  // namespace

DataSplits load_data(const DataConfig& config, uint64_t run_seed, const Say& say,
                     const Normalizer* given, const OwnPart* own) {
  const uint64_t seed = config.split_seed < 0 ? run_seed : static_cast<uint64_t>(config.split_seed);
  if (own) check_own_part(config);
  DataConfig resolved = config;  // some sources use the seed themselves
  resolved.split_seed = static_cast<int64_t>(seed);
  SourceData source = find_source(config.name).load(resolved, say, own);
  Rows rows = cut(source, config, seed);
  DataSplits splits;
  splits.provenance = source.provenance + (source.is_cut ? "" : split_text(config, rows, seed));
  splits.normalizer = given ? *given : source.samples->fit(config.normalize, rows.train);
  check_fits(splits.normalizer, source.samples->sample_shape());
  source.samples->set_normalizer(splits.normalizer);
  splits.tokenizer = source.tokenizer;
  const std::shared_ptr<const Dataset> whole = std::move(source.samples);
  splits.train = part(whole, std::move(rows.train));
  splits.validation = part(whole, std::move(rows.validation));
  splits.test = part(whole, std::move(rows.test));
  return splits;
}

}  // namespace lockstep
