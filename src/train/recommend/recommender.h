#pragma once

#include "data/posts/post_dataset.h"
#include "nn/program.h"
#include "parallel/step_result.h"

namespace lockstep {

// How well rankings of `top` accounts find hidden follows; mean over users with hidden follows.
struct RankingScores {
  double precision = 0;  // share of recommended accounts that are hidden follows
  double recall = 0;     // share of hidden follows that are recommended
  double hit_rate = 0;   // share of users with at least one found
};

struct Recommendation {
  int64_t account = 0;
  double score = 0;
};

// Scores of all accounts for all users, to rank accounts by.
class AccountScores {
 public:
  explicit AccountScores(const FollowGraph& graph)
      : graph_(&graph), scores_(static_cast<size_t>(graph.size() * graph.size())) {}

  double& at(int64_t user, int64_t account) {
    return scores_[static_cast<size_t>(user * graph_->size() + account)];
  }
  // The `top` best accounts that the user is not known to follow; ties: lower number first.
  std::vector<Recommendation> best(int64_t user, int64_t top) const;
  RankingScores measure(int64_t top) const;

 private:
  const FollowGraph* graph_;
  std::vector<double> scores_;
};

// The network's outputs as probabilities, averaged over a user's posts. Users without posts get the
// most popular accounts.
AccountScores network_scores(const PostDataset& posts, Program& program,
                             const Parameters& parameters);

// Baselines without a network: random, most followed, most followed of the user's group.
AccountScores random_scores(const FollowGraph& graph, uint64_t seed);
AccountScores popularity_scores(const FollowGraph& graph);
AccountScores group_scores(const FollowGraph& graph);

// precision_at_10, recall_at_10, hit_rate_at_10 and the baselines' precision.
std::vector<NamedFigure> recommendation_figures(const PostDataset& posts, const Network& network,
                                                const Parameters& parameters, Device& device,
                                                int64_t top);

}  // namespace lockstep
