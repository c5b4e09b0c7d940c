#include "data/posts/features.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <unordered_map>

#include "base/error.h"
#include "data/posts/words.h"
#include "os/thread_pool.h"

namespace lockstep {
namespace {

uint64_t fnv1a(const std::string& word) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : word) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash ^ (hash >> 32);
}

using Words = std::vector<std::vector<std::string>>;  // of each text
using Counts = std::unordered_map<std::string, int64_t>;
using Vocabulary = std::unordered_map<std::string, std::pair<int32_t, float>>;

// Number of texts that each word occurs in.
Counts text_counts(std::span<const std::vector<std::string>> texts) {
  Counts counts;
  for (const auto& words : texts) {
    std::vector<std::string> once(words);
    std::sort(once.begin(), once.end());
    once.erase(std::unique(once.begin(), once.end()), once.end());
    for (const std::string& word : once) ++counts[word];
  }
  return counts;
}

// Column and weight of the `width` words that occur in the most texts, at least two; ties are
// broken by spelling.
Vocabulary vocabulary(const Counts& counts, size_t texts, int64_t width) {
  std::vector<std::pair<int64_t, std::string>> order;
  for (const auto& [word, count] : counts)
    if (count >= 2) order.emplace_back(-count, word);
  std::sort(order.begin(), order.end());
  if (static_cast<int64_t>(order.size()) > width) order.resize(static_cast<size_t>(width));
  Vocabulary known;
  const double all = static_cast<double>(texts);
  for (size_t i = 0; i < order.size(); ++i)
    known[order[i].second] = {
        static_cast<int32_t>(i),
        static_cast<float>(std::log((1 + all) / (1 - static_cast<double>(order[i].first))) + 1)};
  return known;
}

// Appends a row of this text. Null vocabulary: hashed features.
void add_row(SparseMatrix& matrix, const std::vector<std::string>& text, const Vocabulary* known,
             int64_t width) {
  std::map<int32_t, float> row;
  for (const std::string& word : text) {
    if (!known) {
      row[static_cast<int32_t>(fnv1a(word) % static_cast<uint64_t>(width))] += 1;
    } else if (const auto found = known->find(word); found != known->end()) {
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

void append(SparseMatrix& all, const SparseMatrix& more) {
  const int64_t before = all.begins.back();
  for (const int64_t end : std::span(more.begins).subspan(1)) all.begins.push_back(before + end);
  all.columns.insert(all.columns.end(), more.columns.begin(), more.columns.end());
  all.values.insert(all.values.end(), more.values.begin(), more.values.end());
}

}  // namespace

SparseMatrix text_features(const std::vector<std::string>& texts, PostFeatures kind, int64_t width,
                           int threads) {
  ThreadPool pool(threads);
  const auto members = static_cast<size_t>(threads);
  const auto count = static_cast<int64_t>(texts.size());
  const bool hashed = kind == PostFeatures::hashed;
  Words words(texts.size());
  std::vector<Counts> counts(members);
  pool.split(count, 1, [&](int64_t begin, int64_t end, int member) {
    for (int64_t i = begin; i < end; ++i)
      words[static_cast<size_t>(i)] = words_of(texts[static_cast<size_t>(i)]);
    if (!hashed)
      counts[static_cast<size_t>(member)] = text_counts(
          std::span(words).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
  });
  for (size_t member = 1; member < members; ++member)
    for (const auto& [word, more] : counts[member]) counts[0][word] += more;
  const Vocabulary known = vocabulary(counts[0], texts.size(), width);
  std::vector<SparseMatrix> parts(members);
  pool.split(count, 1, [&](int64_t begin, int64_t end, int member) {
    for (int64_t i = begin; i < end; ++i)
      add_row(parts[static_cast<size_t>(member)], words[static_cast<size_t>(i)],
              hashed ? nullptr : &known, width);
  });
  for (size_t member = 1; member < members; ++member) append(parts[0], parts[member]);
  return std::move(parts[0]);
}

}  // namespace lockstep
