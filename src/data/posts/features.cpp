#include "data/posts/features.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "data/posts/words.h"

namespace lockstep {
namespace {

uint64_t fnv1a(const std::string& word) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : word) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash ^ (hash >> 32);
}

// Column and weight of the `width` words that occur in the most texts, at least two; ties are
// broken by spelling.
std::unordered_map<std::string, std::pair<int32_t, float>> vocabulary(
    const std::vector<std::vector<std::string>>& texts, int64_t width) {
  std::unordered_map<std::string, int64_t> counts;
  for (const auto& words : texts) {
    std::vector<std::string> once(words);
    std::sort(once.begin(), once.end());
    once.erase(std::unique(once.begin(), once.end()), once.end());
    for (const std::string& word : once) ++counts[word];
  }
  std::vector<std::pair<int64_t, std::string>> order;
  for (const auto& [word, count] : counts)
    if (count >= 2) order.emplace_back(-count, word);
  std::sort(order.begin(), order.end());
  if (static_cast<int64_t>(order.size()) > width) order.resize(static_cast<size_t>(width));
  std::unordered_map<std::string, std::pair<int32_t, float>> known;
  const double all = static_cast<double>(texts.size());
  for (size_t i = 0; i < order.size(); ++i)
    known[order[i].second] = {
        static_cast<int32_t>(i),
        static_cast<float>(std::log((1 + all) / (1 - static_cast<double>(order[i].first))) + 1)};
  return known;
}

}  // namespace

SparseMatrix text_features(const std::vector<std::string>& texts, PostFeatures kind,
                           int64_t width) {
  std::vector<std::vector<std::string>> words;
  words.reserve(texts.size());
  for (const std::string& text : texts) words.push_back(words_of(text));
  const bool hashed = kind == PostFeatures::hashed;
  const auto known = hashed ? decltype(vocabulary(words, width)){} : vocabulary(words, width);
  SparseMatrix matrix;
  std::map<int32_t, float> row;
  for (const auto& text : words) {
    row.clear();
    for (const std::string& word : text) {
      if (hashed) {
        row[static_cast<int32_t>(fnv1a(word) % static_cast<uint64_t>(width))] += 1;
      } else if (const auto found = known.find(word); found != known.end()) {
        row[found->second.first] += found->second.second;
      }
    }
    double squares = 0;
    for (const auto& [column, value] : row) squares += double(value) * value;
    const auto scale = static_cast<float>(squares > 0 ? 1 / std::sqrt(squares) : 0);
    for (const auto& [column, value] : row) {
      matrix.columns.push_back(column);
      matrix.values.push_back(value * scale);
    }
    matrix.begins.push_back(static_cast<int64_t>(matrix.columns.size()));
  }
  return matrix;
}

}  // namespace lockstep
