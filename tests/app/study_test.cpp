// Studies, cross-validation and reports, as a user runs them.

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

TEST_F(Studies, LeaveTablesFiguresAndAReportAndKeepWhatIsDone) {
  study("[grid]\nseed = [1, 2]\n");
  const Json first = json({"study", "s.toml", "--json", "--out", "st"});
  ASSERT_EQ(first["points"].size(), 2u);
  for (const char* file : {"table.md", "table.csv", "table.tex", "time.svg", "time.png",
                           "report.html", "points/seed=1/run-0/config.toml"})
    EXPECT_TRUE(fs::exists(folder() / "st" / file)) << file;
  const auto written = fs::last_write_time(folder() / "st/points/seed=1/run-0/summary.json");
  EXPECT_EQ(json({"study", "s.toml", "--json", "--out", "st"}), first);
  EXPECT_EQ(fs::last_write_time(folder() / "st/points/seed=1/run-0/summary.json"), written);
  // What was changed is run again.
  json({"study", "s.toml", "--json", "--out", "st", "--set", "train.epochs=3"});
  EXPECT_NE(fs::last_write_time(folder() / "st/points/seed=1/run-0/summary.json"), written);
}

TEST_F(Studies, RunTheRestWhenAPointCannot) {
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

TEST_F(Studies, OfThePublicationsRunInTheirQuickForm) {
  const Ended list = lockstep({"study", "--list"});
  int found = 0;
  for (const auto& file : fs::directory_iterator(fs::path(LOCKSTEP_TESTS_FOLDER) / "../studies")) {
    const std::string name = file.path().stem();
    expect_says(list.out, {name});
    const Ended ended = lockstep({"study", name, "--quick", "--quiet", "--out", name});
    EXPECT_EQ(ended.code, 0) << name << ": " << ended.err;
    EXPECT_TRUE(fs::exists(folder() / name / "report.html")) << name;
    ++found;
  }
  EXPECT_GE(found, 10);
}

TEST_F(Studies, CrossvalidationsHaveTheSameNumbersOnRanks) {
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

}  // namespace
}  // namespace lockstep
