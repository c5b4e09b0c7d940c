// Study files: grids, points, quick forms; errors suggest the nearest valid word.

#include "study/study.h"

#include "base/error.h"
#include "data/data_testing.h"
#include "study/shipped_studies.h"

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

TEST(Study, AcceptsSinglePointsAndOtherConfigurations) {
  const Study s = parse(
      "config = \"iris-mlp\"\n[[points]]\nlabel = \"a\"\ntrain.batch = \"full\"\n"
      "[[points]]\nconfig = \"mlp-1\"\ndata.workers = 4\n"
      "[[published]]\nlabel = \"a\"\ntotal_seconds = 0.28\n");
  ASSERT_EQ(s.points.size(), 2u);
  EXPECT_EQ(s.points[0].label, "a");
  EXPECT_EQ(s.points[1].config, "mlp-1");
  EXPECT_EQ(s.points[1].label, "config=mlp-1, workers=4");
  ASSERT_EQ(s.published.size(), 1u);
  EXPECT_EQ(s.published[0].values.at("total_seconds").number, 0.28);
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

TEST(Study, KeepsTheOtherAxesOfTheGridInItsQuickForm) {
  const Study quick = parse(
      "config = \"iris-mlp\"\n[grid]\nparallel.ranks = [1, 2, 4]\ntrain.batch = [16, 32]\n"
      "[quick.grid]\nparallel.ranks = [1]\n",
      true);
  ASSERT_EQ(quick.points.size(), 2u);
  EXPECT_EQ(quick.points[0].label, "ranks=1, batch=16");
  EXPECT_EQ(quick.points[1].label, "ranks=1, batch=32");
}

TEST(Study, ExampleInTheDocumentationIsValid) {
  const std::string page = read_text(LOCKSTEP_TESTS_FOLDER "/../docs/studies.md");
  const size_t start = page.find("```toml\n") + 8;
  const std::string text = page.substr(start, page.find("```", start) - start);
  EXPECT_EQ(parse(text).points.size(), 7u);
  const Study quick = parse(text, true);
  ASSERT_EQ(quick.points.size(), 5u);
  EXPECT_EQ(quick.points[3].label, "ranks=2, batch=256");
}

TEST(Study, KnowsHowQuickPointsDifferFromPublishedOnes) {
  const std::string head =
      "config = \"iris-mlp\"\n[set]\ntrain.epochs = 9\n[grid]\ndata.workers = [0, 1]\n"
      "[[published]]\nlabel = \"workers=1\"\ntotal_seconds = 2\n[quick]\n";
  EXPECT_TRUE(parse(head + "repeats = 2\n", true).points[1].differs.empty());
  EXPECT_TRUE(parse(head + "set.train.epochs = 9\nset.seed = 4\n", true).points[1].differs.empty());
  EXPECT_EQ(parse(head + "set.train.epochs = 1\nset.data.limit = 5\n", true).points[1].differs,
            (std::vector<std::string>{"data.limit=5", "train.epochs=1"}));
  EXPECT_EQ(parse(head + "config = \"mlp-1\"\n", true).points[0].differs,
            std::vector<std::string>{"config=mlp-1"});
}

TEST(Study, RefusesPublishedValuesOfUnknownPoints) {
  const std::string head =
      "config = \"iris-mlp\"\n[grid]\nparallel.ranks = [1, 2]\n"
      "[quick.grid]\nparallel.ranks = [1]\n";
  expect_says(error(head + "[[published]]\nlabel = \"rank=2\"\ntotal_seconds = 3\n"),
              {"s.toml line 7", "'rank=2'", "'ranks=1', 'ranks=2'"});
  expect_says(error(head + "[[published]]\ntotal_seconds = 3\n"), {"'ranks=1'"});
  EXPECT_EQ(
      parse(head + "[[published]]\nlabel = \"ranks=2\"\ntotal_seconds = 3\n", true).points.size(),
      1u);
  expect_says(error(head + "[[published]]\nlabel = \"ranks=2\"\ntotal_seconds = \"3 s\"\n"),
              {"total_seconds is '3 s'"});
  expect_says(error(head + "[[published]]\nlabel = \"ranks=2\"\ntotal_second = 3\n"),
              {"'total_seconds'"});
}

TEST(Study, KeepsPublishedValuesAsTheDocumentPrintsThem) {
  const std::string head =
      "config = \"iris-mlp\"\ncolumns = [\"test_accuracy\", \"gain\"]\n"
      "[[points]]\nlabel = \"a\"\nseed = 1\n[[published]]\n";
  const Study s = parse(head +
                        "label = \"a\"\ntotal_seconds = \"9,511.60\"\ntest_accuracy = "
                        "\"98.80%\"\ngain = \"9.28 (12.98 by its formula)\"\n"
                        "[[published]]\nlabel = \"one GPU\"\nreference = true\n"
                        "total_seconds = \"47.42\"\n");
  const auto& values = s.published[0].values;
  EXPECT_EQ(values.at("total_seconds").number, 9511.6);
  EXPECT_EQ(values.at("total_seconds").text, "9,511.60");
  EXPECT_DOUBLE_EQ(values.at("test_accuracy").number, 0.988);
  EXPECT_EQ(values.at("gain").number, 9.28);
  EXPECT_TRUE(s.published[1].reference);
  expect_says(error(head + "label = \"one GPU\"\ntotal_seconds = \"47.42\"\n"),
              {"s.toml line 7", "'one GPU'", "reference = true"});
  for (const char* wrong : {"", "fast", "3 s", "1.2.3", "nan", "%"})
    expect_says(
        error(head + "label = \"a\"\ntotal_seconds = \"" + wrong + "\"\n"),
        {"s.toml line 8", "total_seconds is '" + std::string(wrong), "a number was expected"});
}

TEST(Study, PlacesPointsOnNodes) {
  const std::string head = "config = \"iris-mlp\"\nsimulate_on = \"1gbe-4x8\"\n[[points]]\n";
  const Study s = parse(head + "nodes = 2\nparallel.ranks = 4\n");
  EXPECT_EQ(s.points[0].nodes(), 2);
  EXPECT_EQ(s.points[0].label, "nodes=2, ranks=4");
  for (const char* wrong : {"0", "-1", "\"x\"", "1.5", "1000000"})
    expect_says(error(head + "nodes = " + wrong + "\n"), {"s.toml line 4", "nodes = "});
  expect_says(error("config = \"iris-mlp\"\n[[points]]\nnodes = 2\n"), {"simulate_on"});
  expect_says(error("config = \"iris-mlp\"\n[set]\nnodes = 2\n[[points]]\nseed = 1\n"),
              {"s.toml line 3", "nodes"});
}

TEST(Study, RefusesUnknownColumnsWithTheirLine) {
  const std::string head = "config = \"iris-mlp\"\n", grid = "[grid]\nseed = [1, 2]\n";
  const auto unknown = [](const std::string& text, const char* line, const char* name) {
    expect_says(error(text), {line, name, "expected one of"});
  };
  unknown(head + "columns = [\"xyzzy\"]\n" + grid, "line 2", "'xyzzy'");
  unknown(head + "time = \"xyzzy\"\n" + grid, "line 2", "'xyzzy'");
  unknown(head + "scale = \"xyzzy\"\n" + grid, "line 2", "\"xyzzy\"");
  unknown(head + grid + "[[published]]\nlabel = \"seed=1\"\nxyzzy = \"1\"\n", "line 6", "'xyzzy'");
  unknown(head + grid + "[[figures]]\nname = \"f\"\ntitle = \"F\"\ncolumns = \"xyzzy\"\n", "line 7",
          "'xyzzy'");
  unknown(head + grid +
              "[[grids]]\nname = \"g\"\ntitle = \"G\"\nrows = \"seed\"\ncolumns = \"seed\"\n"
              "value = \"xyzzy\"\n",
          "line 5", "'xyzzy'");
  unknown(head + grid +
              "[[claims]]\ntext = \"t\"\ncolumn = \"xyzzy\"\npoint = \"seed=1\"\nat_most = 1\n",
          "line 5", "'xyzzy'");
  expect_says(error(head + "simulate_on = \"1gbe-4x9\"\n" + grid), {"line 2", "1gbe-4x8"});
}

TEST(Study, RefusesWhatWouldNotBeShown) {
  const std::string text = "config = \"iris-mlp\"\n[grid]\nseed = [1, 2]\n";
  const std::string row = "[[published]]\nlabel = \"seed=1\"\n";
  expect_says(error(text + row), {"line 5", "no values"});
  expect_says(error(text + row + "gain = \"1\"\n"), {"line 6", "gain would not be shown"});
  expect_says(error(text + row + "total_seconds = \"1\"\n" + row + "total_seconds = \"2\"\n"),
              {"line 8", "a second [[published]]"});
  expect_says(error(text + row + "total_seconds = \"1\"\nreference = true\n"),
              {"line 5", "is a point of this study"});
  const std::string figure =
      "[[figures]]\nname = \"f\"\ntitle = \"F\"\ncolumns = \"total_seconds\"\n";
  EXPECT_EQ(parse(text + figure).figures[0].x, "");
  expect_says(error(text + figure + figure), {"line 9", "called 'f'"});
  expect_says(error(text + "[quick]\nset.train.epoch = 1\n"), {"line 5", "train.epochs"});
  expect_says(error("simulate_beyond = 2\n" + text), {"line 1", "simulate_on"});
  expect_says(error(text + "[[points]]\nnodes = 2\n"), {"line 5", "simulate_on"});
}

TEST(Study, RefusesWhatCouldNotBeRunOrCompared) {
  const std::string text = "config = \"iris-mlp\"\n[grid]\nseed = [1, 2]\n";
  expect_says(error("config = \"iris-mpl\"\n[grid]\nseed = [1]\n"), {"line 1", "iris-mlp"});
  expect_says(error(text + "[[points]]\nconfig = \"iris-mpl\"\n"), {"line 5", "iris-mlp"});
  expect_says(error("columns = [\"gain\", \"gain\"]\n" + text), {"line 1", "'gain'", "twice"});
  expect_says(error(text + "[[points]]\nlabel = \"seed=1\"\nseed = 3\n"),
              {"line 5", "two points are called 'seed=1'"});
  expect_says(error(text + "[[claims]]\ntext = \"t\"\ncolumn = \"gain\"\npoint = \"seed=1\"\n"
                           "against = \"seed=1\"\nat_most = 1\n"),
              {"line 5", "with itself"});
  for (const char* table : {"published", "figures", "grids", "claims"})
    expect_says(error(text + "[[quick." + table + "]]\nlabel = \"a\"\n"),
                {"line 5", "[quick] has settings and points only"});
  expect_says(error(text + "[[quick.points]]\nlabel = \"a\"\nseed = 7\n[[quick.points]]\n"
                           "label = \"b\"\nseed = 7\n"),
              {"line 8", "same settings"});
}

TEST(Study, RefusesContradictoryBaselines) {
  const std::string head = "config = \"iris-mlp\"\ncolumns = [\"speed_up\"]\n";
  const std::string points =
      "[[points]]\nlabel = \"a\"\nparallel.ranks = 1\ndevice.threads = 1\n"
      "[[points]]\nlabel = \"b\"\nparallel.ranks = 1\ndevice.threads = 2\n";
  const std::string two = "[[points]]\nlabel = \"c\"\nparallel.ranks = 2\n";
  expect_says(error(head + points + two), {"line 8", "'a' and 'b'", "baseline of 'c'"});
  EXPECT_EQ(parse(head + points + two + "device.threads = 2\n").points.size(), 3u);
  EXPECT_EQ(parse("config = \"iris-mlp\"\n" + points + two).points.size(), 3u);
  expect_says(
      error(head + "[[points]]\nlabel = \"a\"\nseed = 1\n[[points]]\nlabel = \"b\"\nseed = 1\n"),
      {"line 7", "'b' has the same settings as 'a'"});
}

TEST(Study, RefusesFiguresAndGridsWithoutPoints) {
  const std::string head =
      "config = \"iris-mlp\"\n[grid]\nparallel.ranks = [1, 2]\ntrain.batch = [8, 16]\n";
  const std::string figure =
      "[[figures]]\nname = \"f\"\ntitle = \"F\"\nx = \"parallel.ranks\"\n"
      "columns = [\"epoch_seconds\", \"total_seconds\"]\n";
  const Study s = parse(head + figure + "where.train.batch = 8\n");
  ASSERT_EQ(s.figures.size(), 1u);
  EXPECT_EQ(s.figures[0].where.at("train.batch"), std::vector<std::string>{"8"});
  EXPECT_TRUE(is_selected(s.points[0], s.figures[0].where));
  EXPECT_FALSE(is_selected(s.points[1], s.figures[0].where));
  expect_says(error(head + figure + "where.train.batch = 9\n"),
              {"s.toml line 6", "'f'", "no points"});
  expect_says(error(head + "[[figures]]\nname = \"f\"\ntitle = \"F\"\nx = \"parallel.rank\"\n"
                           "columns = \"total_seconds\"\n"),
              {"no points"});
  expect_says(error(head + "[[figures]]\nname = \"f\"\ntitle = \"F\"\ncolums = \"x\"\n"),
              {"s.toml line 8", "'columns'"});
  expect_says(error(head + "[[figures]]\nname = \"f\"\nx = \"seed\"\ncolumns = \"gain\"\n"),
              {"'title' is missing"});
  const std::string grid =
      "[[grids]]\nname = \"g\"\ntitle = \"G\"\nrows = \"train.batch\"\n"
      "columns = \"parallel.ranks\"\nvalue = \"test_accuracy\"\n";
  EXPECT_EQ(parse(head + grid).grids[0].columns, "parallel.ranks");
  expect_says(error(head + grid + "where.seed = 3\n"), {"'g'", "no points"});
}

TEST(Study, DrawsCurvesOfRunsWithPublishedPoints) {
  const std::string head =
      "config = \"iris-mlp\"\n[grid]\nseed = [1]\n"
      "[[figures]]\nname = \"f\"\ntitle = \"F\"\n";
  const std::string curve = "curve = \"eval_loss\"\n";
  const Study s = parse(head + curve + "published = [\"350 = 0.82\", \"650=0.74\"]\n");
  EXPECT_EQ(s.figures[0].curve, "eval_loss");
  EXPECT_EQ(s.figures[0].published,
            (std::vector<std::pair<double, double>>{{350, 0.82}, {650, 0.74}}));
  expect_says(error(head + "curve = \"eval_los\"\n"),
              {"s.toml line 5", "no curve 'eval_los'", "did you mean 'eval_loss'?"});
  for (const char* wrong : {"", "350", "=1", "350 =", "x = 1", "1 = x", "1 = 2 3", "1 = nan"})
    expect_says(error(head + curve + "published = [\"" + std::string(wrong) + "\"]\n"),
                {"s.toml line 8", "'" + std::string(wrong) + "'", "step = value"});
  expect_says(error(head + curve + "x = \"seed\"\n"), {"s.toml line 5", "either a curve, or x"});
  expect_says(error(head + curve + "columns = \"test_loss\"\n"), {"either a curve, or x"});
  expect_says(error(head + "x = \"seed\"\ncolumns = \"test_loss\"\npublished = [\"1 = 2\"]\n"),
              {"s.toml line 5", "points of a curve"});
}

TEST(Study, ThatIsIncludedIsNamedAfterItsFile) {
  ASSERT_FALSE(shipped_studies().empty());
  for (const ShippedStudy& shipped : shipped_studies())
    EXPECT_EQ(parse(std::string(shipped.text)).name, shipped.name);
}

TEST(Study, RefusesNamesThatArePaths) {
  const std::string rest = "config = \"iris-mlp\"\n[grid]\nseed = [1]\n";
  for (const char* name : {"../victim", "", ".", "..", ".x", "a/b", "a\\u001b[2J", "a\\nb"}) {
    expect_says(error("name = \"" + std::string(name) + "\"\n" + rest),
                {"s.toml line 1: the name '"});
    expect_says(error("config = \"iris-mlp\"\n[[points]]\nseed = 1\nlabel = \"" +
                      std::string(name) + "\"\n"),
                {"s.toml line 4: the name '"});
  }
  EXPECT_EQ(parse("name = \"my study, 2\"\n" + rest).name, "my study, 2");
}

TEST(Study, MakesFolderNamesOfValuesThatArePaths) {
  const Study s = parse("config = \"iris-mlp\"\n[grid]\ndata.path = [\"../a\", \"/b/c\"]\n");
  EXPECT_EQ(s.points[0].label, "path=.._a");
  EXPECT_EQ(s.points[1].label, "path=_b_c");
}

TEST(Study, ExplainsErrors) {
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
  expect_says(error(head + "[points]\nx = 1\n"), {"line 3", "'points.x'", "[[points]]"});
  expect_says(error(head + "[points.99999999999999]\nseed = 1\n"), {"line 3", "[[points]]"});
  expect_says(error(head + "[published]\nlabel = \"a\"\n"), {"line 3", "[[published]]"});
  expect_says(error(head + "columns = 5\n[grid]\nseed = [1]\n"), {"columns is a whole number"});
  expect_says(error(head + "simulate_numbers = 1\n[grid]\nseed = [1]\n"), {"simulate_numbers"});
  std::string many = head + "[grid]\n";
  for (const char* key : {"seed", "train.epochs", "train.batch", "data.limit"}) {
    many += std::string(key) + " = [1";
    for (int i = 2; i <= 50; ++i) many += "," + std::to_string(i);
    many += "]\n";
  }
  expect_says(error(many), {"more than 1000 points"});
}

}  // namespace
}  // namespace lockstep
