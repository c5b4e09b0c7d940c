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

// What a source delivers: the training part first, then the test part if it comes with one, in one
// piece, so that the two can be pooled and split anew without a copy.
struct SourceData {
  std::unique_ptr<RawDataset> samples;
  int64_t train_rows = 0;  // the rows from here on are the source's own test part
  // Where the source itself has cut by data.validation and data.test: so many rows behind the
  // training part are for validation.
  bool is_cut = false;
  int64_t validation_rows = 0;
  std::string provenance;                      // "mnist (full, 60,000 + 10,000)"
  std::shared_ptr<const Tokenizer> tokenizer;  // of text

  int64_t test_rows() const { return samples->size() - train_rows; }
};

// "60,000 + 10,000", or "150" without a test part.
std::string size_text(const SourceData& data);

// "PATH (as mnist, 60,000 + 10,000)": the user's files, read as a known set's.
std::string own_files_text(const DataConfig& config, const SourceData& data);

// A UserError where data.path is given to a set that comes with the program: it would be ignored.
void expect_no_path(const DataConfig& config, const std::string& source_of_own_data);

// data.path as a path; a UserError that says what the source expects there when it is not given.
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
