#include "train/recommend/recommender.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/rng.h"
#include "train/evaluator.h"

namespace lockstep {
namespace {

std::vector<double> popularity(const FollowGraph& graph) {
  std::vector<double> followers(static_cast<size_t>(graph.size()));
  for (int64_t user = 0; user < graph.size(); ++user)
    for (int64_t a = 0; a < graph.size(); ++a)
      followers[static_cast<size_t>(a)] += graph.knows(user, a);
  return followers;
}

}  // namespace

std::vector<Recommendation> AccountScores::best(int64_t user, int64_t top) const {
  std::vector<Recommendation> all;
  for (int64_t a = 0; a < graph_->size(); ++a)
    if (a != user && !graph_->knows(user, a))
      all.push_back({a, scores_[static_cast<size_t>(user * graph_->size() + a)]});
  const auto count = static_cast<int64_t>(std::min<size_t>(all.size(), static_cast<size_t>(top)));
  std::partial_sort(all.begin(), all.begin() + count, all.end(),
                    [](const Recommendation& a, const Recommendation& b) {
                      return std::pair(-a.score, a.account) < std::pair(-b.score, b.account);
                    });
  all.resize(static_cast<size_t>(count));
  return all;
}

RankingScores AccountScores::measure(int64_t top) const {
  RankingScores sums;
  int64_t users = 0;
  for (int64_t user = 0; user < graph_->size(); ++user) {
    const int64_t hidden = graph_->hidden(user);
    if (hidden == 0) continue;
    ++users;
    int64_t found = 0;
    for (const Recommendation& r : best(user, top)) found += graph_->hides(user, r.account);
    sums.precision += static_cast<double>(found) / static_cast<double>(top);
    sums.recall += static_cast<double>(found) / static_cast<double>(hidden);
    sums.hit_rate += found > 0;
  }
  const double count = static_cast<double>(std::max<int64_t>(1, users));
  return {sums.precision / count, sums.recall / count, sums.hit_rate / count};
}

AccountScores network_scores(const PostDataset& posts, Program& program,
                             const Parameters& parameters) {
  const FollowGraph& graph = posts.graph();
  const int64_t accounts = graph.size();
  AccountScores scores(graph);
  std::vector<int64_t> counts(static_cast<size_t>(accounts));
  run_forward(posts, all_of(posts), program, parameters, [&](const Batch& batch) {
    const std::span<const float> outputs = program.outputs();
    for (int64_t i = 0; i < batch.rows; ++i) {
      const int32_t author = batch.labels[static_cast<size_t>(i)];
      ++counts[static_cast<size_t>(author)];
      for (int64_t a = 0; a < accounts; ++a)
        scores.at(author, a) += 1 / (1 + std::exp(-outputs[static_cast<size_t>(i * accounts + a)]));
    }
  });
  const std::vector<double> followers = popularity(graph);
  for (int64_t user = 0; user < accounts; ++user)
    for (int64_t a = 0; a < accounts; ++a) {
      const int64_t count = counts[static_cast<size_t>(user)];
      double& score = scores.at(user, a);
      score = count > 0 ? score / static_cast<double>(count)
                        : followers[static_cast<size_t>(a)] / static_cast<double>(accounts);
    }
  return scores;
}

AccountScores random_scores(const FollowGraph& graph, uint64_t seed) {
  AccountScores scores(graph);
  for (int64_t user = 0; user < graph.size(); ++user) {
    Rng rng(seed, Purpose::split, 64, static_cast<uint64_t>(user));
    for (int64_t a = 0; a < graph.size(); ++a) scores.at(user, a) = rng.uniform();
  }
  return scores;
}

AccountScores popularity_scores(const FollowGraph& graph) {
  AccountScores scores(graph);
  const std::vector<double> followers = popularity(graph);
  for (int64_t user = 0; user < graph.size(); ++user)
    for (int64_t a = 0; a < graph.size(); ++a)
      scores.at(user, a) = followers[static_cast<size_t>(a)];
  return scores;
}

AccountScores group_scores(const FollowGraph& graph) {
  AccountScores scores = popularity_scores(graph);
  const std::vector<std::string>& groups = graph.groups();
  for (int64_t user = 0; user < graph.size(); ++user)
    for (int64_t a = 0; a < graph.size(); ++a)
      if (groups[static_cast<size_t>(user)] == groups[static_cast<size_t>(a)])
        scores.at(user, a) += static_cast<double>(graph.size());  // the user's own group first
  return scores;
}

std::vector<NamedFigure> recommendation_figures(const PostDataset& posts, const Network& network,
                                                const Parameters& parameters, Device& device,
                                                int64_t top) {
  const FollowGraph& graph = posts.graph();
  Program program(network, LossKind::sigmoid_cross_entropy, device, 256, true);
  const RankingScores ours = network_scores(posts, program, parameters).measure(top);
  const auto name = [&](const char* what) { return fmt::format("{}_at_{}", what, top); };
  std::vector<NamedFigure> figures = {
      {name("precision"), ours.precision},
      {name("recall"), ours.recall},
      {name("hit_rate"), ours.hit_rate},
      {name("random_precision"), random_scores(graph, 1).measure(top).precision},
      {name("popularity_precision"), popularity_scores(graph).measure(top).precision}};
  if (graph.has_groups())
    figures.push_back(
        {name("group_popularity_precision"), group_scores(graph).measure(top).precision});
  return figures;
}

}  // namespace lockstep
