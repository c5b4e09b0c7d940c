// Recommending: sparse training equals dense training, on any number of ranks; rankings are
// measured on hidden follows.

#include "train/recommend/recommender.h"

#include "data/posts/synthetic.h"
#include "train/parallel_testing.h"

namespace lockstep {
namespace {

class Recommending : public InFolder {
 protected:
  // A small set of posts in files.
  RunConfig config() {
    const SyntheticPosts made = synthetic_posts(240, 12, 1);
    const std::vector<std::string>& names = made.graph.accounts();
    std::string posts = "user,text\n", follows = "user,followee\n";
    for (size_t i = 0; i < made.texts.size(); ++i)
      posts += names[static_cast<size_t>(made.authors[i])] + "," + made.texts[i] + "\n";
    for (int64_t a = 0; a < 12; ++a)
      for (int64_t b = 0; b < 12; ++b)
        if (made.graph.follows(a, b)) follows += names[size_t(a)] + "," + names[size_t(b)] + "\n";
    write("posts.csv", posts);
    write("follows.csv", follows);
    RunConfig c;
    c.name = "posts-test";
    c.model.layers = {"dense 10 relu", "dropout 0.2", "dense 12"};
    c.data = {.name = "posts", .path = folder().string(), .test = 0.2, .vocabulary = 300};
    c.train.loss = LossKind::sigmoid_cross_entropy;
    c.train.epochs = 2;
    c.train.batch = 24;
    c.parallel.batch = BatchOf::all;
    c.optimizer = {.name = "sgd", .lr = 0.5};
    return c;
  }
  static double difference(const RunConfig& a, const RunConfig& b) {
    return largest_difference(ParallelTraining(a).weights[0], ParallelTraining(b).weights[0]);
  }
};

TEST_F(Recommending, SparseStepsEqualDenseSteps) {
  // The reference device makes sparse inputs dense and touches every row.
  const RunConfig sparse = config();
  RunConfig dense = sparse;
  dense.device.name = "reference";
  EXPECT_LT(difference(sparse, dense), 1e-5);
}

TEST_F(Recommending, DoesNotDependOnTheNumberOfRanks) {
  for (const char* strategy : {"all-reduce", "reduce-broadcast", "scatter-gather"})
    for (const char* optimizer : {"sgd", "adam"}) {
      RunConfig one = config();
      one.optimizer = {.name = optimizer, .lr = 0.01};
      RunConfig three = one;
      three.parallel.strategy = strategy;
      three.parallel.ranks = 3;
      EXPECT_LT(difference(one, three), 1e-5) << strategy << ", " << optimizer;
    }
}

TEST_F(Recommending, HasTheSameBitsInReproducibleMode) {
  RunConfig one = config();
  one.optimizer = {.name = "adam", .lr = 0.01};
  one.parallel.mode = Mode::reproducible;
  RunConfig four = one;
  four.parallel.ranks = 4;
  EXPECT_EQ(difference(one, four), 0);
}

TEST_F(Recommending, WorksWithEveryStrategy) {
  for (const std::string& strategy : strategy_names()) {
    RunConfig c = config();
    c.parallel.strategy = strategy;
    const StrategyTraits traits = traits_of(c.parallel);
    c.parallel.ranks = 2 + traits.servers;
    if (traits.only_searches_lines) c.optimizer = {.name = "lbfgs", .lr = 1, .iterations = 3};
    const ParallelTraining run(c);
    EXPECT_TRUE(std::isfinite(run.summary.train_loss)) << strategy;
  }
}

TEST_F(Recommending, NeedsALossForSeveralTargets) {
  RunConfig c = config();
  c.train.loss = LossKind::softmax_cross_entropy;
  expect_says(error_of<UserError>([&] { Training t(c); }), {"sigmoid-cross-entropy"});
  c = config();
  c.model.layers = {"relu", "dense 12"};
  expect_says(error_of<UserError>([&] { Training t(c); }), {"first layer must be dense", "relu"});
}

TEST(AccountScores, AreMeasuredOnHiddenFollows) {
  FollowGraph graph({"a", "b", "c", "d", "e"});
  for (int64_t other = 1; other < 5; ++other) graph.add(0, other);
  graph.hide(0.5, 1);
  AccountScores right(graph), wrong(graph);
  for (int64_t other = 1; other < 5; ++other) {
    right.at(0, other) = graph.hides(0, other);
    wrong.at(0, other) = graph.knows(0, other);
  }
  const RankingScores best = right.measure(2);
  EXPECT_EQ(best.precision, 1);
  EXPECT_EQ(best.recall, 1);
  EXPECT_EQ(best.hit_rate, 1);
  EXPECT_EQ(right.measure(4).precision, 0.5);
  // Known follows are never recommended.
  for (const Recommendation& r : wrong.best(0, 10)) EXPECT_TRUE(graph.hides(0, r.account));
}

TEST(AccountScores, OfGroupsRankTheUsersGroupFirst) {
  FollowGraph graph({"a", "b", "c", "d"});
  graph.add(1, 2);
  graph.add(3, 2);
  graph.set_group(0, "x");
  graph.set_group(1, "x");
  graph.set_group(2, "y");
  graph.set_group(3, "y");
  EXPECT_EQ(popularity_scores(graph).best(0, 1)[0].account, 2);
  EXPECT_EQ(group_scores(graph).best(0, 1)[0].account, 1);
}

}  // namespace
}  // namespace lockstep
