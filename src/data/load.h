#pragma once

#include <memory>
#include <string>

#include "base/enum_text.h"
#include "data/data_config.h"
#include "data/dataset.h"
#include "data/normalizer.h"
#include "data/own_part.h"
#include "data/say.h"
#include "text/tokenizer.h"

namespace lockstep {

enum class SplitPart { train, validation, test };
template <>
inline constexpr auto enum_texts<SplitPart> = std::array{"train", "validation", "test"};

// A data set in parts, ready to train on. A part without samples is null.
struct DataSplits {
  std::unique_ptr<Dataset> train, validation, test;
  const Dataset* part(SplitPart part) const {
    return std::array{train.get(), validation.get(), test.get()}[static_cast<size_t>(part)];
  }
  std::string provenance;  // "mnist (full, 60,000 + 10,000)", and how it was split
  Normalizer normalizer;   // fitted to the training part, applied to all parts
  std::shared_ptr<const Tokenizer> tokenizer;  // null: not text
};

// Loads a source and splits it by the seed. With data.test, the source's own test part is first
// pooled with its training part. Progress of fetching is reported to `say`. `given`: the normalizer
// of a trained model, applied instead of fitting one. With `own`, training samples of other ranks
// are not read and must not be accessed.
DataSplits load_data(const DataConfig& config, uint64_t seed, const Say& say = say_to_stderr,
                     const Normalizer* given = nullptr, const OwnPart* own = nullptr);

}  // namespace lockstep
