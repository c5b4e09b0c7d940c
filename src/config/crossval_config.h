#pragma once

#include <cstdint>

#include "base/enum_text.h"

namespace lockstep {

// How a node's model is made from its folds: the best fold, the average of all folds, or a model
// retrained on all samples of the node.
enum class FoldModel { best, average, retrain };
template <>
inline constexpr auto enum_texts<FoldModel> = std::array{"best", "average", "retrain"};

// How the saved model is made from the nodes' models: their average, or the best.
enum class NodeModel { average, best };
template <>
inline constexpr auto enum_texts<NodeModel> = std::array{"average", "best"};

// The [crossval] section of a configuration.
struct CrossvalConfig {
  int64_t folds = 10;
  int64_t nodes = 1;   // number of parts of the training samples, each with its own folds
  int64_t groups = 0;  // groups of ranks that train folds at the same time; 0: fastest by estimate
  FoldModel model = FoldModel::best;
  NodeModel combine = NodeModel::average;
};

}  // namespace lockstep
