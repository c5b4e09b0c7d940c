#pragma once

#include <cstdint>
#include <string>

#include "base/enum_text.h"

namespace lockstep {

// unit: bytes to 0..1, columns to their range; standardize: mean 0, deviation 1.
enum class Normalize { none, unit, standardize };
template <>
inline constexpr auto enum_texts<Normalize> = std::array{"none", "unit", "standardize"};

// Whose random rows become the test part.
enum class Splitter { lockstep, scikit_learn };
template <>
inline constexpr auto enum_texts<Splitter> = std::array{"lockstep", "scikit-learn"};

// Which training samples a rank reads.
enum class Reading { all, own_part };
template <>
inline constexpr auto enum_texts<Reading> = std::array{"all", "own-part"};

// Columns of posts: one per frequent word, weighted by rarity, or one per hash of a word.
enum class PostFeatures { tf_idf, hashed };
template <>
inline constexpr auto enum_texts<PostFeatures> = std::array{"tf-idf", "hashed"};

// The [data] section of a configuration.
struct DataConfig {
  std::string name = "mnist";   // a source: see sources/registry
  std::string path;             // the user's own file or folder, where the source needs one
  std::string label = "label";  // csv: the column that holds the class
  Normalize normalize = Normalize::unit;
  double validation = 0;    // below 1 a share of the training part, else a number of samples
  double test = 0;          // the same, for sources that come without a test part
  bool stratified = false;  // splits keep the share of each class
  Splitter splitter = Splitter::lockstep;
  int64_t split_seed = -1;  // -1: the run's seed
  Reading reading = Reading::all;
  int64_t limit = 0;  // train on this many samples only; 0 means all
  PostFeatures features = PostFeatures::tf_idf;
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
