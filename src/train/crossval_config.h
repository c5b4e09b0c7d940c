#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

// What the [crossval] section of a configuration says.
struct CrossvalConfig {
  int64_t folds = 10;
  int64_t nodes = 1;  // parts that the training samples are cut into first, each with its own folds
  int64_t groups = 0;  // of ranks, which train folds side by side; 0: by the quickest estimate
  std::string model = "best";       // of a node: its best fold, their average, or trained anew
  std::string combine = "average";  // the models of nodes: averaged, or each tested by itself
};

}  // namespace lockstep
