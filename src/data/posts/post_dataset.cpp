#include "data/posts/post_dataset.h"

#include <algorithm>

#include "base/error.h"
#include "data/datasets/subset.h"

namespace lockstep {

PostDataset::PostDataset(SparseMatrix features, int64_t width, std::vector<int32_t> authors,
                         FollowGraph graph)
    : RawDataset({width}, std::move(authors), graph.accounts()),
      features_(std::move(features)),
      graph_(std::move(graph)) {
  ENSURE(features_.rows() == size());
}

void PostDataset::read(std::span<const int64_t> rows, Batch& batch) const {
  const auto accounts = static_cast<size_t>(graph_.size());
  batch.rows = static_cast<int64_t>(rows.size());
  batch.begins.assign(1, 0);
  batch.columns.clear();
  batch.values.clear();
  batch.labels.resize(rows.size());
  batch.ids.assign(rows.begin(), rows.end());
  batch.targets.resize(rows.size() * accounts);
  for (size_t i = 0; i < rows.size(); ++i) {
    ENSURE(rows[i] >= 0 && rows[i] < size());
    const auto begin = features_.begins[static_cast<size_t>(rows[i])];
    const auto end = features_.begins[static_cast<size_t>(rows[i]) + 1];
    batch.columns.insert(batch.columns.end(), features_.columns.begin() + begin,
                         features_.columns.begin() + end);
    batch.values.insert(batch.values.end(), features_.values.begin() + begin,
                        features_.values.begin() + end);
    batch.begins.push_back(static_cast<int64_t>(batch.columns.size()));
    const int32_t author = label(rows[i]);
    batch.labels[i] = author;
    float* targets = batch.targets.data() + i * accounts;
    for (size_t a = 0; a < accounts; ++a)
      targets[a] = graph_.knows(author, static_cast<int64_t>(a)) ? 1.0f : 0.0f;
  }
}

void PostDataset::read_row(int64_t row, std::span<float> out) const {
  std::fill(out.begin(), out.end(), 0.0f);
  for (auto i = features_.begins[static_cast<size_t>(row)];
       i < features_.begins[static_cast<size_t>(row) + 1]; ++i)
    out[static_cast<size_t>(features_.columns[static_cast<size_t>(i)])] =
        features_.values[static_cast<size_t>(i)];
}

const PostDataset* posts_of(const Dataset& part) {
  const Dataset* at = &part;
  while (const auto* subset = dynamic_cast<const Subset*>(at)) at = &subset->whole();
  return dynamic_cast<const PostDataset*>(at);
}

}  // namespace lockstep
