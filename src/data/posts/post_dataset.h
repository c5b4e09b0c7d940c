#pragma once

#include "data/datasets/raw_dataset.h"
#include "data/posts/features.h"
#include "data/posts/follow_graph.h"

namespace lockstep {

// One sample per post: the words of its text, with the accounts that its author is known to follow
// as targets. The label is the author, so that stratified splits keep the proportions of authors.
class PostDataset final : public RawDataset {
 public:
  PostDataset(SparseMatrix features, int64_t width, std::vector<int32_t> authors,
              FollowGraph graph);

  bool sparse() const override { return true; }
  bool multi_label() const override { return true; }
  void read(std::span<const int64_t> rows, Batch& batch) const override;
  Normalizer fit(Normalize, std::span<const int64_t>) const override { return {}; }
  const FollowGraph& graph() const { return graph_; }

 protected:
  void read_row(int64_t row, std::span<float> out) const override;

 private:
  SparseMatrix features_;
  FollowGraph graph_;
};

// The posts behind a part of a split; null if the data are not posts.
const PostDataset* posts_of(const Dataset& part);

}  // namespace lockstep
