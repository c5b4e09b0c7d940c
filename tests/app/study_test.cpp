// Studies, cross-validation and reports on the command line.

#include "app/process_testing.h"

namespace lockstep {
namespace {

class Studies : public CommandLine {
 protected:
  void study(const std::string& more) {
    write("s.toml",
          "title = \"T\"\nconfig = \"iris-mlp\"\ncolumns = [\"test_accuracy\", \"total_seconds\"]\n"
          "[set]\ntrain.epochs = 2\n" +
              more);
  }
};

TEST_F(Studies, WriteTablesFiguresAndAReportAndKeepFinishedRuns) {
  study("[grid]\nseed = [1, 2]\n");
  const Json first = json({"study", "s.toml", "--json", "--out", "st"});
  ASSERT_EQ(first["points"].size(), 2u);
  for (const char* file : {"table.md", "table.csv", "table.tex", "time.svg", "time.png",
                           "report.html", "points/seed=1/run-0/config.toml"})
    EXPECT_TRUE(fs::exists(folder() / "st" / file)) << file;
  const auto written = fs::last_write_time(folder() / "st/points/seed=1/run-0/summary.json");
  EXPECT_EQ(json({"study", "s.toml", "--json", "--out", "st"}), first);
  EXPECT_EQ(fs::last_write_time(folder() / "st/points/seed=1/run-0/summary.json"), written);
  // Changed points are run again.
  json({"study", "s.toml", "--json", "--out", "st", "--set", "train.epochs=3"});
  EXPECT_NE(fs::last_write_time(folder() / "st/points/seed=1/run-0/summary.json"), written);
}

TEST_F(Studies, StartOverWithForceAndRemoveNothingElse) {
  study("[grid]\nseed = [1, 2]\n");
  const Arguments words = {"study", "s.toml", "--quiet", "--out", "st"};
  ASSERT_EQ(lockstep(words).code, 0);
  write("st/mine.txt", "mine");
  write("st/points/other/run-0/summary.json", "{}");
  write("st/points/seed=1/run-0/old.txt", "old");
  write("st/speed-up.svg", "of an earlier form of the study");
  const auto written = fs::last_write_time(folder() / "st/points/seed=1/run-0/summary.json");
  Arguments forced = words;
  forced.push_back("--force");
  ASSERT_EQ(lockstep(forced).code, 0);
  EXPECT_NE(fs::last_write_time(folder() / "st/points/seed=1/run-0/summary.json"), written);
  EXPECT_FALSE(fs::exists(folder() / "st/points/seed=1/run-0/old.txt"));
  EXPECT_FALSE(fs::exists(folder() / "st/speed-up.svg"));
  EXPECT_TRUE(fs::exists(folder() / "st/table.md"));
  EXPECT_TRUE(fs::exists(folder() / "st/mine.txt"));
  EXPECT_TRUE(fs::exists(folder() / "st/points/other/run-0/summary.json"));
}

TEST_F(Studies, DoNotRemoveThroughALink) {
  study("[grid]\nseed = [1]\n");
  write("elsewhere/seed=1/precious", "p");
  make_folder(folder() / "st");
  fs::create_directory_symlink(folder() / "elsewhere", folder() / "st/points");
  const Ended ended = lockstep({"study", "s.toml", "--out", "st", "--force"});
  EXPECT_EQ(ended.code, 2);
  expect_says(ended.err, {"is a link"});
  EXPECT_TRUE(fs::exists(folder() / "elsewhere/seed=1/precious"));
}

TEST_F(Studies, WithNamesThatArePathsAreRefused) {
  write("victim/summary.json", "{}");
  write("runs/x", "");
  study("[[points]]\nseed = 1\nlabel = \"../../../victim\"\n");
  EXPECT_EQ(lockstep({"study", "s.toml"}).code, 2);
  write("s.toml", "name = \"../victim\"\nconfig = \"iris-mlp\"\n[grid]\nseed = [1]\n");
  const Ended ended = lockstep({"study", "s.toml"});
  EXPECT_EQ(ended.code, 2);
  expect_says(ended.err, {"the name '../victim'"});
  EXPECT_EQ(read_text(folder() / "victim/summary.json"), "{}");
  for (const auto& entry : fs::directory_iterator(folder() / "victim"))
    EXPECT_EQ(entry.path().filename(), "summary.json");
}

TEST_F(Studies, WithChangedSettingsAreNotComparedWithPublishedFigures) {
  study(
      "[grid]\nseed = [1]\n[[published]]\nlabel = \"seed=1\"\ntotal_seconds = 777\n"
      "[quick]\nset.data.limit = 100\n");
  expect_says(lockstep({"study", "s.toml", "--quiet", "--out", "full"}).out,
              {"published", "777.0"});
  const Ended quick = lockstep({"study", "s.toml", "--quick", "--quiet", "--out", "quick"});
  expect_says(quick.out, {"Published figures are left out", "data.limit=100"});
  EXPECT_EQ(quick.out.find("777"), std::string::npos);
  // The same holds for a report made later from the folder.
  lockstep({"study", "s.toml", "--set", "train.epochs=1", "--quiet", "--out", "set"});
  for (const char* folder_name : {"quick", "set"}) {
    ASSERT_EQ(lockstep({"report", folder_name, "-o", "r.md"}).code, 0);
    EXPECT_EQ(read_text(folder() / "r.md").find("777"), std::string::npos);
  }
  ASSERT_EQ(lockstep({"report", "full", "-o", "r.md"}).code, 0);
  expect_says(read_text(folder() / "r.md"), {"777.0"});
}

TEST_F(Studies, AreReportedWithoutTheirDamagedRuns) {
  study("[grid]\nseed = [1, 2]\n");
  ASSERT_EQ(lockstep({"study", "s.toml", "--quiet", "--out", "st"}).code, 0);
  write("st/points/seed=1/run-0/summary.json", "{\"parallel\": []}");
  ASSERT_EQ(lockstep({"report", "st", "-o", "r.md"}).code, 0);
  expect_says(read_text(folder() / "r.md"),
              {"| seed=1 | failed |", "| seed=2 | measured |", "parallel is []"});
}

TEST_F(Studies, AndDamagedOrHostileRunsAreSkippedByReports) {
  ASSERT_EQ(
      lockstep({"train", "iris-mlp", "--quiet", "--set", "train.epochs=1", "--out", "a"}).code, 0);
  write("bad\x1b[2J/summary.json",
        "{\"x\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}");
  const Ended ended = lockstep({"report", "a", "bad\x1b[2J", "-o", "r.html"});
  EXPECT_EQ(ended.code, 0);
  expect_says(ended.err, {"skipped: bad\\x1b[2J", "nested more than"});
  EXPECT_EQ(ended.err.find('\x1b'), std::string::npos);
  for (const char* file : {"none/r.pdf", "none/r.svg", "none/r.html"}) {
    const Ended unwritten = lockstep({"report", "a", "-o", file});
    EXPECT_EQ(unwritten.code, 1) << file;
    expect_says(unwritten.err, {"cannot write none/r."});
  }
  const Ended other = lockstep({"report", "a", "-o", "r.docx"});
  EXPECT_EQ(other.code, 2);
  expect_says(other.err, {".html .md .csv .tex .svg .png .pdf"});
}

TEST_F(Studies, RunTheOtherPointsWhenOneFails) {
  study("[grid]\nparallel.affinity = [\"none\", \"4095\"]\n");
  const Ended ended = lockstep({"study", "s.toml", "--out", "st"});
  EXPECT_EQ(ended.code, 1);
  expect_says(ended.out, {"affinity=none", "measured", "affinity=4095", "failed"});
  expect_says(ended.err, {"4095"});
}

TEST_F(Studies, OfUnknownNamesAreExplained) {
  expect_says(lockstep({"study", "mpi-mnist-scalling"}).err, {"did you mean 'mpi-mnist-scaling'?"});
  EXPECT_EQ(lockstep({"study"}).code, 2);
  study("[grid]\nsede = [1]\n");
  const Ended ended = lockstep({"study", "s.toml"});
  EXPECT_EQ(ended.code, 2);
  expect_says(ended.err, {"'sede'", "'seed'"});
}

// A selection: './run test-long' runs all of them.
TEST_F(Studies, ThatAreIncludedRunInTheirQuickForm) {
  for (const char* name :
       {"fashion-scatter-gather", "iris-variants", "mpi-mnist-scaling", "mpi-mnist-weak-scaling",
        "serial-parallel-cnn", "tweets-mlp-1-crossval", "tweets-mlp-1-simulated"}) {
    const Ended ended = lockstep({"study", name, "--quick", "--quiet", "--out", name});
    EXPECT_EQ(ended.code, 0) << name << ": " << ended.err;
    EXPECT_TRUE(fs::exists(folder() / name / "report.html")) << name;
  }
}

TEST_F(Studies, ThatAreIncludedAreListed) {
  const Ended list = lockstep({"study", "--list"});
  for (const auto& file : fs::directory_iterator(fs::path(LOCKSTEP_TESTS_FOLDER) / "../studies"))
    expect_says(list.out, {file.path().stem()});
}

TEST_F(Studies, CrossvalidationsHaveTheSameResultsOnSeveralRanks) {
  const Arguments base = {"crossval", "iris-mlp",       "--folds", "4",
                          "--set",    "train.epochs=3", "--quiet", "--json"};
  const auto with = [&](Arguments more) {
    Arguments all = base;
    all.insert(all.end(), more.begin(), more.end());
    return json(all);
  };
  const Json serial = with({"--out", "a"}), farmed = with({"--ranks", "2", "--out", "b"});
  ASSERT_EQ(serial["by_fold"].size(), 4u);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(serial["by_fold"][i]["loss"], farmed["by_fold"][i]["loss"]);
  EXPECT_EQ(farmed["groups"], 2);
  EXPECT_EQ(serial["test_loss"], farmed["test_loss"]);
  EXPECT_EQ(lockstep({"eval", "b"}).code, 0);
  EXPECT_EQ(lockstep({"crossval", "iris-mlp", "--folds", "99"}).code, 2);
  EXPECT_EQ(lockstep({"crossval"}).code, 2);
}

TEST_F(Studies, CrossvalidationsReportTheBatchOfAFold) {
  const Arguments base = {"crossval", "iris-mlp", "--folds", "2",        "--set", "train.epochs=1",
                          "--quiet",  "--ranks",  "2",       "--groups", "1"};
  Arguments as_json = base, as_table = base;
  as_json.insert(as_json.end(),
                 {"--out", "a", "--json", "--set", "schedule.scale_with_ranks=true"});
  as_table.insert(as_table.end(), {"--out", "b"});
  const Json summary = json(as_json);
  EXPECT_EQ(summary["ranks_per_fold"], 2);
  EXPECT_EQ(summary["global_batch"], 60);  // limited by the 60 training samples of a fold
  EXPECT_EQ(summary["batch_per_rank"], 30);
  EXPECT_DOUBLE_EQ(summary["learning_rate"].get<double>(), 0.002);
  const Ended table = lockstep(as_table);
  ASSERT_EQ(table.code, 0) << table.err;
  expect_says(table.out, {"2 in 1 group\n", "batch per rank / global", " 30 / 60\n",
                          "learning rate ", " 0.001\n"});
}

}  // namespace
}  // namespace lockstep
