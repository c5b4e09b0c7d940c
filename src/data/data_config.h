#pragma once

#include <cstdint>
#include <string>

#include "base/enum_text.h"

namespace lockstep {

// unit: bytes to 0..1, columns to their range; standardize: mean 0, deviation 1.
enum class Normalize { none, unit, standardize };
template <>
inline constexpr auto enum_texts<Normalize> = std::array{"none", "unit", "standardize"};

// Which implementation draws the random rows of the test part.
enum class Splitter { lockstep, scikit_learn };
template <>
inline constexpr auto enum_texts<Splitter> = std::array{"lockstep", "scikit-learn"};

// Which training samples a rank reads.
enum class Reading { all, own_part };
template <>
inline constexpr auto enum_texts<Reading> = std::array{"all", "own-part"};

// Columns of posts. tf_idf: one per frequent word, weighted by rarity; hashed: by hash of the word.
enum class PostFeatures { tf_idf, hashed };
template <>
inline constexpr auto enum_texts<PostFeatures> = std::array{"tf-idf", "hashed"};

// The [data] section of a configuration.
struct DataConfig {
  std::string name = "mnist";   // a source: see sources/registry
  std::string path;             // the user's own file or folder, where the source needs one
  std::string label = "label";  // csv: the column that holds the class
  Normalize normalize = Normalize::unit;
  double validation = 0;    // below 1: fraction of the training part; else number of samples
  double test = 0;          // likewise, of all samples; 0: the source's own test part, if any
  bool stratified = false;  // splits keep the proportions of classes
  Splitter splitter = Splitter::lockstep;
  int64_t split_seed = -1;  // -1: the run's seed
  Reading reading = Reading::all;
  int64_t limit = 0;  // train on this many samples only; 0 means all
  PostFeatures features = PostFeatures::tf_idf;
  int64_t vocabulary = 16384;       // posts: number of feature columns
  double hidden = 0.2;              // posts: fraction of each user's follows hidden for testing
  std::string tokenizer = "bytes";  // text: "bytes", "gpt2" or a folder with a tokenizer's files
  int64_t context = 64;             // text: tokens per sample
  int64_t stride = 0;               // text: tokens between starts of training samples; 0: context
  std::string text_template = "{text}";  // text tables: how columns are merged into one text
  std::string split_column;              // text tables: the column that names each row's part
  // Threads that convert samples while they are loaded, and prepare batches in advance; 0: the
  // training thread does both.
  int workers = 0;

  int loading_threads() const { return workers > 0 ? workers : 1; }
};

}  // namespace lockstep
