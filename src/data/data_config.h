#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

// What the [data] section of a configuration says.
struct DataConfig {
  std::string name = "mnist";      // a source: see sources/registry
  std::string path;                // the user's own file or folder, where the source needs one
  std::string label = "label";     // csv: the column that holds the class
  std::string normalize = "unit";  // none, unit (bytes to 0..1), standardize (mean 0, deviation 1)
  double validation = 0;           // below 1 a share of the training part, else a number of samples
  double test = 0;                 // the same, for sources that come without a test part
  bool stratified = false;         // splits keep the share of each class
  std::string splitter = "lockstep";  // or scikit-learn: the test rows of its train_test_split
  int64_t split_seed = -1;            // -1: the run's seed
  std::string reading = "all";  // own-part: each rank reads only its part of the training samples
  int64_t limit = 0;            // train on this many samples only; 0 means all
  std::string features = "tf-idf";  // posts: or hashed
  int64_t vocabulary = 16384;       // posts: columns of the features
  double hidden = 0.2;              // posts: share of each user's follows that is kept for testing
  std::string tokenizer = "bytes";  // text: or gpt2, or a folder with a tokenizer's files
  int64_t context = 64;             // text: tokens of a sample
  int64_t stride = 0;               // text: a sample begins every so many tokens; 0: context
  std::string text_template = "{text}";  // text of a table: its columns merged
  std::string split_column;              // text of a table: the column that names each row's part
  int workers = 0;  // threads that prepare batches ahead; 0: the training thread does
};

}  // namespace lockstep
