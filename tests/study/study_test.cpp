// Study files: grids, points, quick forms; what is wrong is named with the nearest right word.

#include "study/study.h"

#include "base/error.h"
#include "data/data_testing.h"

namespace lockstep {
namespace {

Study parse(const std::string& text, bool quick = false) {
  return parse_study(text, "s.toml", quick);
}
std::string error(const std::string& text) {
  return error_of<UserError>([&] { parse(text); });
}

TEST(Study, MakesAllCombinationsOfAGrid) {
  const Study s = parse(
      "config = \"iris-mlp\"\n[set]\ntrain.epochs = 3\n[grid]\nparallel.ranks = [1, 2, 4]\n"
      "parallel.strategy = [\"all-reduce\", \"average-weights\"]\n");
  ASSERT_EQ(s.points.size(), 6u);
  EXPECT_EQ(s.points[0].label, "ranks=1, strategy=all-reduce");
  EXPECT_EQ(s.points[5].value("parallel.ranks"), "4");
  EXPECT_EQ(s.points[5].value("data.name"), "");
  EXPECT_EQ(s.changes, std::vector<std::string>{"train.epochs=3"});
}

TEST(Study, TakesPointsOneByOneAndOtherNetworks) {
  const Study s = parse(
      "config = \"iris-mlp\"\n[[points]]\nlabel = \"a\"\ntrain.batch = \"full\"\n"
      "[[points]]\nconfig = \"mlp-1\"\ndata.workers = 4\n"
      "[[published]]\nlabel = \"a\"\ntotal_seconds = 0.28\nepochs = 3\n");
  ASSERT_EQ(s.points.size(), 2u);
  EXPECT_EQ(s.points[0].label, "a");
  EXPECT_EQ(s.points[1].config, "mlp-1");
  EXPECT_EQ(s.points[1].label, "config=mlp-1, workers=4");
  ASSERT_EQ(s.published.size(), 1u);
  EXPECT_EQ(s.published[0].values.at("total_seconds"), 0.28);
}

TEST(Study, HasAQuickForm) {
  const std::string text =
      "config = \"iris-mlp\"\nrepeats = 5\n[set]\ntrain.epochs = 100\nseed = 3\n"
      "[grid]\nparallel.ranks = [1, 2, 4]\n[quick]\nrepeats = 1\nset.train.epochs = 2\n"
      "grid.parallel.ranks = [1]\n";
  EXPECT_EQ(parse(text).repeats, 5);
  const Study quick = parse(text, true);
  EXPECT_EQ(quick.repeats, 1);
  EXPECT_EQ(quick.points.size(), 1u);
  EXPECT_EQ(quick.changes, (std::vector<std::string>{"seed=3", "train.epochs=2"}));
}

TEST(Study, ThatIsWrongIsExplained) {
  const std::string head = "config = \"iris-mlp\"\n";
  expect_says(error(head), {"nothing to run"});
  expect_says(error("[grid]\nparallel.ranks = [1]\n"), {"config is missing"});
  expect_says(error(head + "[grid]\nparallel.ranks = []\n"), {"line 3", "an empty list"});
  expect_says(error(head + "[grid]\nparallel.ranks = 2\n"), {"a list of values"});
  expect_says(error(head + "[grid]\nparalel.ranks = [1]\n"), {"line 3", "parallel.ranks"});
  expect_says(error(head + "[grid]\nparallel.strategy = [\"all-redcue\"]\n"), {"all-reduce"});
  expect_says(error(head + "[grid]\nparallel.ranks = [0]\n"), {"out of range"});
  expect_says(error(head + "repeat = 3\n[grid]\nseed = [1]\n"), {"no key 'repeat'", "repeats"});
  expect_says(error(head + "verb = \"trian\"\n[grid]\nseed = [1]\n"), {"train"});
  expect_says(error(head + "columns = [\"speedup\"]\n[grid]\nseed = [1]\n"), {"speed_up"});
  expect_says(error(head + "[set]\nseed = 1\n[grid]\nseed = [1, 2]\n"), {"[set] and in [grid]"});
  expect_says(error(head + "[grid]\nseed = [1, 1]\n"), {"two points are called 'seed=1'"});
  expect_says(error(head + "repeats = 0\n[grid]\nseed = [1]\n"), {"repeats"});
  expect_says(error("config = \n"), {"s.toml line 1"});
}

}  // namespace
}  // namespace lockstep
