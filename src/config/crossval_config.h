#pragma once

#include <cstdint>

#include "base/enum_text.h"

namespace lockstep {

// What is kept of a node's folds: the best, their average, or a model trained on all of them.
enum class FoldModel { best, average, retrain };
template <>
inline constexpr auto enum_texts<FoldModel> = std::array{"best", "average", "retrain"};

// What is kept of the nodes' models: their average, or the best.
enum class NodeModel { average, best };
template <>
inline constexpr auto enum_texts<NodeModel> = std::array{"average", "best"};

// The [crossval] section of a configuration.
struct CrossvalConfig {
  int64_t folds = 10;
  int64_t nodes = 1;  // parts that the training samples are cut into first, each with its own folds
  int64_t groups = 0;  // of ranks, which train folds side by side; 0: by the quickest estimate
  FoldModel model = FoldModel::best;
  NodeModel combine = NodeModel::average;
};

}  // namespace lockstep
