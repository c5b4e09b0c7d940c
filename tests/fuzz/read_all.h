#pragma once

#include "data/load.h"
#include "fuzz_target.h"

namespace lockstep {

// Reads every sample and checks that labels are below the number of classes.
inline void read_all(const Dataset& data) {
  Batch batch;
  for (int64_t row = 0; row < data.size(); ++row) {
    data.read(std::vector<int64_t>{row}, batch);
    for (int64_t i = 0; i < data.answers(); ++i) {
      const int32_t label = batch.labels[static_cast<size_t>(i)];
      expect(label >= 0 && label < data.outputs(), "labels are below the number of classes");
    }
  }
}

inline void read_all(const DataSplits& data) {
  for (const Dataset* part : {data.train.get(), data.validation.get(), data.test.get()})
    if (part) read_all(*part);
}

}  // namespace lockstep
