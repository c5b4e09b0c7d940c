// Posts: words that do not reveal targets, sparse features, follows, faulty files.

#include "base/error.h"
#include "data/data_testing.h"
#include "data/load.h"
#include "data/posts/features.h"
#include "data/posts/post_dataset.h"
#include "data/posts/synthetic.h"
#include "data/posts/words.h"

namespace lockstep {
namespace {

using Words = std::vector<std::string>;

TEST(Words, AreLowerCaseWithHashtags) {
  EXPECT_EQ(words_of("Hello, World! #Vote2022 it's"),
            (Words{"hello", "world", "#vote2022", "it", "s"}));
  EXPECT_EQ(words_of(""), Words{});
  EXPECT_EQ(words_of("# alone"), (Words{"alone"}));
}

TEST(Words, LeaveOutRetweetMarksMentionsAndLinks) {
  EXPECT_EQ(words_of("RT @RepSmith: read https://x.org/a?b=c now"), (Words{"read", "now"}));
  EXPECT_EQ(words_of("thanks @a_b1 and (@c)! QT @GOPLeader text"),
            (Words{"thanks", "and", "text"}));
  EXPECT_EQ(words_of("see www.site.com, START"), (Words{"see", "start"}));
}

TEST(Words, AreSeparatedByInvalidUtf8) {
  EXPECT_EQ(words_of("caf\xc3\xa9 na\xefve \xff\xfe x\xe2\x80\x99y"),
            (Words{"caf\xc3\xa9", "na", "ve", "x", "y"}));
  EXPECT_EQ(words_of("ends \xe2\x82"), (Words{"ends"}));
}

TEST(Features, HaveRowsOfNormOne) {
  const std::vector<std::string> texts = {"a b b", "a c", "", "a b"};
  for (const PostFeatures kind : {PostFeatures::hashed, PostFeatures::tf_idf}) {
    const SparseMatrix m = text_features(texts, kind, 1000);
    ASSERT_EQ(m.rows(), 4);
    EXPECT_EQ(m.begins[2], m.begins[3]);  // the empty text
    for (size_t r : {size_t{0}, size_t{1}, size_t{3}}) {
      double squares = 0;
      for (int64_t i = m.begins[r]; i < m.begins[r + 1]; ++i)
        squares += double(m.values[size_t(i)]) * m.values[size_t(i)];
      EXPECT_NEAR(squares, 1, 1e-6);
    }
  }
}

TEST(Features, TfIdfLeavesOutWordsOfOneTextAndWeighsRareWordsMore) {
  const SparseMatrix m = text_features({"a b once", "a b", "a"}, PostFeatures::tf_idf, 1000);
  ASSERT_EQ(m.begins, (std::vector<int64_t>{0, 2, 4, 5}));
  EXPECT_EQ(m.columns[0], 0);  // "a", which occurs in the most texts
  EXPECT_LT(m.values[0], m.values[1]);
  EXPECT_EQ(text_features({"a b", "a b", "a"}, PostFeatures::tf_idf, 1).columns,
            (std::vector<int32_t>{0, 0, 0}));
}

TEST(Features, DoNotDependOnTheNumberOfThreads) {
  const SyntheticPosts made = synthetic_posts(500, 40, 1);
  for (const PostFeatures kind : {PostFeatures::hashed, PostFeatures::tf_idf}) {
    const SparseMatrix one = text_features(made.texts, kind, 300);
    ASSERT_EQ(one.rows(), 500);
    for (const int threads : {2, 3, 7}) {
      const SparseMatrix more = text_features(made.texts, kind, 300, threads);
      EXPECT_EQ(more.begins, one.begins) << threads;
      EXPECT_EQ(more.columns, one.columns) << threads;
      EXPECT_EQ(more.values, one.values) << threads;
    }
    EXPECT_EQ(text_features({}, kind, 300, 2).rows(), 0);
  }
}

TEST(FollowGraph, HidesAFractionOfEachUsersFollows) {
  FollowGraph graph({"a", "b", "c", "d", "e", "f"});
  for (int64_t other = 1; other < 6; ++other) graph.add(0, other);
  graph.add(1, 0);
  graph.hide(0.4, 3);
  EXPECT_EQ(graph.hidden(0), 2);
  EXPECT_EQ(graph.hidden(1), 0);
  EXPECT_EQ(graph.edges(), 6);
  for (int64_t other = 1; other < 6; ++other)
    EXPECT_NE(graph.knows(0, other), graph.hides(0, other));
}

TEST(SyntheticPosts, HaveTheGivenSizeAndTheDensityOfTheStudy) {
  const SyntheticPosts made = synthetic_posts(3000, 100, 1);
  EXPECT_EQ(made.texts.size(), 3000u);
  EXPECT_EQ(made.graph.size(), 100);
  EXPECT_NEAR(static_cast<double>(made.graph.edges()) / (100.0 * 99), 0.355, 0.03);
  EXPECT_EQ(made.texts, synthetic_posts(3000, 100, 1).texts);
}

class Posts : public InFolder {
 protected:
  DataConfig config() const {
    return {.name = "posts", .path = folder().string(), .vocabulary = 64, .hidden = 0};
  }
  void follows(const std::string& rows) { write("follows.csv", "user,followee\n" + rows); }
  void posts(const std::string& rows) { write("posts.csv", "user,text\n" + rows); }
  std::string error() const {
    return error_of<UserError>([&] { load_data(config(), 1, [](const std::string&) {}); });
  }
};

TEST_F(Posts, HaveTheFollowsOfTheAuthorAsTargets) {
  follows("ann,bob\nann,cat\nbob,cat\n");
  posts("ann,hello there\nbob,\"hi, hello\"\n");
  const DataSplits data = load_data(config(), 1);
  ASSERT_EQ(data.train->size(), 2);
  EXPECT_EQ(data.train->classes(), (Words{"ann", "bob", "cat"}));
  Batch batch;
  const std::vector<int64_t> rows = {1, 0};
  data.train->read(rows, batch);
  EXPECT_EQ(batch.targets, (std::vector<float>{0, 0, 1, 0, 1, 1}));
  EXPECT_EQ(batch.labels, (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(batch.begins.size(), 3u);
}

TEST_F(Posts, ByUnknownUsersAreLeftOutWithAMessage) {
  follows("ann,bob\n");
  posts("ann,hello\nzoe,who am I\n");
  std::string said;
  const DataSplits data = load_data(config(), 1, [&](const std::string& text) { said += text; });
  EXPECT_EQ(data.train->size(), 1);
  expect_says(said, {"1 posts are by users"});
  expect_says(data.provenance, {"1 without posts"});
}

TEST_F(Posts, ExplainFaultyFiles) {
  expect_says(error(), {"follows.csv", "expected there"});
  follows("");
  expect_says(error(), {"no follows"});
  follows("ann,bob\n");
  expect_says(error(), {"posts.csv"});
  posts("zoe,hello\n");
  expect_says(error(), {"none of its 1 posts"});
  write("posts.csv", "who,what\nann,hello\n");
  expect_says(error(), {"no column 'user'", "who, what"});
  posts("ann,hello,again\n");
  expect_says(error(), {"line 2", "3 fields"});
}

}  // namespace
}  // namespace lockstep
