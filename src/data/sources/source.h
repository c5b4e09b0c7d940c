#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/data_config.h"
#include "data/datasets/raw_dataset.h"
#include "data/own_part.h"
#include "data/say.h"
#include "text/tokenizer.h"

namespace lockstep {

// The samples of a source: the training part, then the source's own test part if it has one. Both
// are in one data set, so that they can be pooled and split again without a copy.
struct SourceData {
  std::unique_ptr<RawDataset> samples;
  int64_t train_rows = 0;  // the remaining rows are the source's own test part
  // The source itself has applied data.validation and data.test: the training part is followed by
  // validation_rows rows for validation, then the test part.
  bool is_cut = false;
  int64_t validation_rows = 0;
  std::string provenance;                      // "mnist (full, 60,000 + 10,000)"
  std::shared_ptr<const Tokenizer> tokenizer;  // null: not text

  int64_t test_rows() const { return samples->size() - train_rows; }
};

// "60,000 + 10,000", or "150" without a test part.
std::string size_text(const SourceData& data);

// "PATH (as mnist, 60,000 + 10,000)": the user's files, read as those of a known set.
std::string own_files_text(const DataConfig& config, const SourceData& data);

// Throws a UserError if data.path is set for a shipped data set, which would ignore it.
void expect_no_path(const DataConfig& config, const std::string& source_of_own_data);

// Returns data.path. Throws a UserError that says what the source expects there if it is not set.
std::string required_path(const DataConfig& config, const std::string& expected);

SourceData load_iris(const DataConfig& config, const Say& say, const OwnPart* own);
SourceData load_mnist(const DataConfig& config, const Say& say,
                      const OwnPart* own);  // and fashion-mnist
SourceData load_mnist_sample(const DataConfig& config, const Say& say, const OwnPart* own);
SourceData load_cifar10(const DataConfig& config, const Say& say, const OwnPart* own);
SourceData load_csv(const DataConfig& config, const Say& say, const OwnPart* own);
SourceData load_idx(const DataConfig& config, const Say& say, const OwnPart* own);
SourceData load_posts(const DataConfig& config, const Say& say, const OwnPart* own);
SourceData load_text(const DataConfig& config, const Say& say,
                     const OwnPart* own);  // and tiny-shakespeare
SourceData load_images(const DataConfig& config, const Say& say, const OwnPart* own);

}  // namespace lockstep
