// Run folders: no run is lost, mixed with another or silently damaged.

#include <fstream>

#include "app/process_testing.h"

namespace lockstep {
namespace {

constexpr const char* points = R"(
name = "points"
[model]
layers = ["dense 20 relu", "dense 3"]
[data]
name = "iris"
test = 0.2
normalize = "standardize"
[train]
epochs = 3
batch = 16
)";

class RunsOfAProgram : public CommandLine {
 protected:
  RunsOfAProgram() { write("points.toml", points); }

  Ended train(const std::string& more = "") {
    return shell("lockstep train points.toml --quiet " + more);
  }
  std::string latest() const { return fs::read_symlink(folder() / "runs/latest").string(); }
  std::string text(const std::string& file) const { return read_text(folder() / file); }

  // Starts an endless training and waits for its first checkpoint.
  std::unique_ptr<Process> endless(const std::string& out) {
    auto process = std::make_unique<Process>(
        program({"train", "points.toml", "--out", out, "--set", "train.epochs=100000000", "--set",
                 "train.log_every=1", "--set", "train.checkpoint_every=20"}),
        folder());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!has_checkpoint(out) && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(has_checkpoint(out)) << "training did not start";
    return process;
  }
  bool has_checkpoint(const std::string& run) const {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder() / run / "checkpoints", ignored))
      if (fs::exists(entry.path() / "digests.txt")) return true;
    return false;
  }
};

TEST_F(RunsOfAProgram, EachRunGetsItsOwnFolder) {
  ASSERT_EQ(train().code, 0);
  const std::string first = text("runs/points/summary.json");
  EXPECT_EQ(latest(), "points");
  ASSERT_EQ(train("--ranks 2 --backend threads").code, 0);
  ASSERT_EQ(train().code, 0);
  EXPECT_EQ(latest(), "points-3");
  EXPECT_EQ(text("runs/points/summary.json"), first);
  EXPECT_TRUE(fs::exists(folder() / "runs/points-2/model/model.safetensors"));
}

TEST_F(RunsOfAProgram, AnExistingRunIsReplacedOnlyWithForce) {
  ASSERT_EQ(train("--out mine").code, 0);
  const std::string before = text("mine/summary.json");
  const Ended again = train("--out mine");
  EXPECT_EQ(again.code, 2);
  expect_says(again.err, {"mine already holds a run", "--resume mine", "--force"});
  EXPECT_EQ(train("--out mine --ranks 2").code, 2);
  EXPECT_EQ(text("mine/summary.json"), before);
  write("mine/notes.txt", "the user's own");
  EXPECT_EQ(train("--out mine --force").code, 0);
  EXPECT_NE(text("mine/summary.json"), before);
  EXPECT_EQ(text("mine/notes.txt"), "the user's own");
  const Ended crossval = shell("lockstep crossval points.toml --folds 2 --quiet --out mine");
  EXPECT_EQ(crossval.code, 2);
  expect_says(crossval.err, {"mine already holds a run"});
}

TEST_F(RunsOfAProgram, VerbsDefaultToTheNewestRun) {
  const Ended none = shell("lockstep eval");
  EXPECT_EQ(none.code, 2);
  expect_says(none.err, {"runs/latest"});
  ASSERT_EQ(train().code, 0);
  ASSERT_EQ(train("--set seed=7").code, 0);
  const Ended newest = shell("lockstep eval --json"),
              named = shell("lockstep eval runs/points-2 --json");
  ASSERT_EQ(newest.code, 0) << newest.err;
  expect_says(newest.err, {"runs/points-2"});
  EXPECT_EQ(Json::parse(newest.out)["loss"], Json::parse(named.out)["loss"]);
  EXPECT_EQ(shell("lockstep verify").code, 0);
  EXPECT_EQ(shell("lockstep report -o x.md").code, 0);
}

TEST_F(RunsOfAProgram, AnInterruptedRunPrintsTheCommandThatResumesIt) {
  const auto process = endless("a folder");
  process->signal(SIGINT);
  const Ended ended = process->wait();
  ASSERT_EQ(ended.code, 0) << ended.err;
  const std::string start = "resume with: ";
  const size_t at = ended.out.find(start);
  ASSERT_NE(at, std::string::npos) << ended.out;
  const std::string command = ended.out.substr(at + start.size());
  const Ended rest = shell(command.substr(0, command.find('\n')) +
                           " --quiet --set train.epochs=100000 & sleep 1; kill %1; wait %1");
  EXPECT_EQ(rest.code, 0) << command << rest.err;
  expect_says(rest.out, {"resume with: "});
}

TEST_F(RunsOfAProgram, TwoCannotWriteIntoOneFolder) {
  const auto process = endless("one");
  const Ended second = train("--out one");
  EXPECT_EQ(second.code, 2);
  expect_says(second.err, {"one is being written by another run"});
  const Ended forced = train("--out one --force");
  EXPECT_EQ(forced.code, 2);
  expect_says(forced.err, {"one is being written by another run"});
  const Ended resumed = shell("lockstep train --resume one");
  EXPECT_EQ(resumed.code, 2);
  expect_says(resumed.err, {"another run (process "});
}

TEST_F(RunsOfAProgram, AKilledRunLeavesNoModelOfTheRunItReplaced) {
  ASSERT_EQ(train("--out one").code, 0);
  write("other.toml", std::string(points) + "[optimizer]\nlr = 0.5\n");
  Process process(program({"train", "other.toml", "--out", "one", "--force", "--set",
                           "train.epochs=100000000", "--set", "train.log_every=1"}),
                  folder());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  const auto trains_the_other = [&] {
    std::ifstream config(folder() / "one/config.toml"), metrics(folder() / "one/metrics.jsonl");
    const std::string text(std::istreambuf_iterator<char>(config), {}),
        lines(std::istreambuf_iterator<char>(metrics), {});
    return text.find("lr = 0.5") != std::string::npos && lines.size() > 1000;
  };
  while (!trains_the_other()) ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  process.signal(SIGKILL);
  process.wait();
  const Ended eval = shell("lockstep eval one");
  EXPECT_EQ(eval.code, 2);
  expect_says(eval.err, {"one has no model"});
}

TEST_F(RunsOfAProgram, MetricsHaveEveryStepOnceAfterKills) {
  int64_t steps = 0;
  auto process = endless("one");
  for (int kill = 0; kill < 4; ++kill) {
    std::this_thread::sleep_for(std::chrono::milliseconds(37 + 61 * kill));
    process->signal(SIGKILL);
    process->wait();
    process = std::make_unique<Process>(program({"train", "--resume", "one", "--quiet", "--json"}),
                                        folder());
    std::this_thread::sleep_for(std::chrono::milliseconds(100 * slowdown));
  }
  process->signal(SIGTERM);
  const Ended ended = process->wait();
  ASSERT_EQ(ended.code, 0) << ended.err;
  std::map<int64_t, int> seen, epochs;
  std::ifstream lines(folder() / "one/metrics.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    if (json.contains("run")) continue;
    const auto step = json["train/global_step"].get<int64_t>();
    ++(json.contains("train/loss") ? seen : epochs)[step];
    steps = std::max(steps, step);
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(steps));
  for (const auto& [step, times] : seen) EXPECT_EQ(times, 1) << step;
  for (const auto& [step, times] : epochs) EXPECT_EQ(times, 1) << "end of an epoch at " << step;
}

TEST_F(RunsOfAProgram, FlippedBitsAreDetectedByEveryReader) {
  ASSERT_EQ(train("--out one").code, 0);
  const fs::path model = folder() / "one/model/model.safetensors";
  std::vector<uint8_t> bytes = read_bytes(model);
  bytes[bytes.size() - 3] ^= 1;
  write_file(model, bytes);
  for (const char* line : {"lockstep eval one", "lockstep predict one --data iris"}) {
    const Ended ended = shell(line);
    EXPECT_EQ(ended.code, 2) << line;
    expect_says(ended.err, {"model.safetensors is damaged"});
  }
  const Ended verified = shell("lockstep verify one");
  EXPECT_EQ(verified.code, 1);
  expect_says(verified.out, {"model/model.safetensors", "DAMAGED"});
  fs::remove(folder() / "one/model/digests.txt");
  const Ended unchecked = shell("lockstep eval one");
  EXPECT_EQ(unchecked.code, 0);
  expect_says(unchecked.err, {"not checked for damage"});
}

TEST_F(RunsOfAProgram, LinksInAFolderAreNotFollowed) {
  write("victim/precious.txt", "keep me");
  make_folder(folder() / "one");
  fs::create_directory_symlink(folder() / "victim", folder() / "one/model");
  const Ended ended = train("--out one --force");
  EXPECT_EQ(ended.code, 2);
  expect_says(ended.err, {"one/model is a symbolic link"});
  EXPECT_EQ(text("victim/precious.txt"), "keep me");
  EXPECT_FALSE(fs::exists(folder() / "victim/model.safetensors"));
}

TEST_F(RunsOfAProgram, NamesDoNotLeadOutOfTheFolder) {
  write("victim/summary.json", "keep me");
  for (const char* name : {"../victim", "/tmp/victim", ".", ".."}) {
    const Ended ended = train(std::string("--set 'name=\"") + name + "\"'");
    EXPECT_EQ(ended.code, 2) << name;
    expect_says(ended.err, {"name", "folder"});
  }
  EXPECT_EQ(text("victim/summary.json"), "keep me");
  EXPECT_EQ(train("--set 'name=\"my first run\"'").code, 0);
  EXPECT_TRUE(fs::exists(folder() / "runs/my first run/summary.json"));
}

TEST_F(RunsOfAProgram, AreListedAndRemoved) {
  ASSERT_EQ(train().code, 0);
  ASSERT_EQ(train().code, 0);
  const Json all = json({"runs", "--json"});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["state"], "finished");
  EXPECT_EQ(all[0]["kind"], "training");
  EXPECT_GT(all[0]["bytes"], 1000);
  expect_says(shell("lockstep runs").out, {"points-2", "finished", "training"});
  const Ended unasked = shell("lockstep runs rm points-2");
  EXPECT_EQ(unasked.code, 2);
  expect_says(unasked.err, {"Remove points-2", "--yes"});
  EXPECT_TRUE(fs::exists(folder() / "runs/points-2"));
  for (const char* name : {"nothing", "../victim", ".", "latest"}) {
    const Ended ended = lockstep({"runs", "rm", name, "--yes"});
    EXPECT_EQ(ended.code, 2) << name;
    expect_says(ended.err, {"there is no run"});
  }
  EXPECT_EQ(shell("lockstep runs rm points-2 --yes").code, 0);
  EXPECT_FALSE(fs::exists(folder() / "runs/points-2"));
  EXPECT_TRUE(fs::exists(folder() / "runs/points"));
  EXPECT_FALSE(fs::exists(fs::symlink_status(folder() / "runs/latest")));
}

TEST_F(RunsOfAProgram, ALossThatRoseIsReported) {
  const Ended ended =
      train("--set optimizer.name=sgd --set optimizer.lr=30 --set train.epochs=2 --out bad");
  ASSERT_EQ(ended.code, 0) << ended.err;
  expect_says(ended.out, {"but the loss rose from", "nothing was learnt"});
  EXPECT_EQ(Json::parse(text("bad/summary.json"))["loss_rose"], true);
}

TEST_F(RunsOfAProgram, EpochsAreFractionalIfARunEndsWithinOne) {
  ASSERT_EQ(train("--set train.steps=12 --out part").code, 0);  // 8 steps per epoch
  EXPECT_EQ(Json::parse(text("part/summary.json"))["epochs"], 1.5);
  ASSERT_EQ(train("--out whole").code, 0);
  EXPECT_EQ(Json::parse(text("whole/summary.json"))["epochs"], 3);
}

TEST_F(RunsOfAProgram, EachSimulatedPointHasItsOwnFolder) {
  const std::string simulate =
      "lockstep simulate points.toml --engine analytic --quiet --cluster 10gbe-8x16 ";
  // The first command calibrates, which takes longer on a busy machine.
  const Ended first =
      Process({"bash", "-c", LOCKSTEP_PROGRAM + simulate.substr(8) + "--ranks 8 --nodes 1,2,4"},
              folder())
          .wait(std::chrono::seconds(240));
  ASSERT_EQ(first.code, 0) << first.err;
  for (const char* nodes : {"1", "2", "4"})
    EXPECT_TRUE(fs::exists(folder() / "runs/points-simulated" /
                           (std::string("ranks-8-nodes-") + nodes) / "summary.json"))
        << nodes;
  ASSERT_EQ(shell(simulate + "--ranks 1,2 --strategy all-reduce,parameter-server").code, 0);
  EXPECT_TRUE(fs::exists(folder() / "runs/points-simulated-2/ranks-2-parameter-server"));
  EXPECT_EQ(shell(simulate + "--ranks 2 --out runs/points-simulated").code, 2);
  EXPECT_EQ(latest(), "points-simulated-2");
}

}  // namespace
}  // namespace lockstep
