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

// A data set in parts, ready to train on. Validation and test are null where there is none.
struct DataSplits {
  std::unique_ptr<Dataset> train, validation, test;
  const Dataset* part(SplitPart part) const {
    return std::array{train.get(), validation.get(), test.get()}[static_cast<size_t>(part)];
  }
  std::string provenance;  // "mnist (full, 60,000 + 10,000)", and how it was split
  Normalizer normalizer;   // made from the training part, applied to all parts
  std::shared_ptr<const Tokenizer> tokenizer;  // of text; else null
};

// Loads a source and cuts it by the seed. With data.test, a test part the source comes with is
// pooled with its training part first. Sources that have to be fetched say so to `say`. A
// normalizer that is given (a trained model's) is applied instead of one made from these samples.
// With `own`, the other ranks' training samples are not read and must not be asked for.
DataSplits load_data(const DataConfig& config, uint64_t seed, const Say& say = say_to_stderr,
                     const Normalizer* given = nullptr, const OwnPart* own = nullptr);

}  // namespace lockstep
