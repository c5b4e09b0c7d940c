#include "data/fetch/fetch.h"
#include "data/fetch/folders.h"
#include "data/sources/idx_parts.h"
#include "data/sources/registry.h"

namespace lockstep {

SourceData load_mnist(const DataConfig& config, const Say& say, const OwnPart* own) {
  const fs::path folder =
      config.path.empty() ? cached_or_fetched(config.name, say) : fs::path(config.path);
  SourceData data = read_idx_parts(train_part(folder), test_part(folder),
                                   find_source(config.name).classes, own, config.loading_threads());
  data.provenance = config.path.empty() ? config.name + " (full, " + size_text(data) + ")"
                                        : own_files_text(config, data);
  return data;
}

SourceData load_mnist_sample(const DataConfig& config, const Say&, const OwnPart* own) {
  expect_no_path(config, "idx");
  const fs::path folder = shipped_folder() / "mnist-sample";
  SourceData data =
      read_idx_parts(train_part(folder), test_part(folder), find_source("mnist-sample").classes,
                     own, config.loading_threads());
  data.provenance = "mnist-sample (a part of MNIST, " + size_text(data) + ")";
  return data;
}

}  // namespace lockstep
