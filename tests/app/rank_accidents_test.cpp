// Failures of ranks, of mpiexec and of the disk, and signals.

#include <sys/mount.h>
#include <sys/resource.h>

#include "app/ranks_testing.h"

namespace lockstep {
namespace {

TEST_F(RanksOfAProgram, AKilledRankEndsTheJobAndIsNamed) {
  const auto process = running({"--ranks", "3"});
  ::kill(rank_processes()[1], SIGKILL);
  const Ended ended = process->wait(std::chrono::seconds(25));
  EXPECT_EQ(ended.code, 1);
  expect_says(ended.err, {"rank 1 on host", "signal 9"});
  expect_nobody_left();
  expect_resumable("3");
}

// Files in shared memory and of MPI's session that a rank has mapped.
std::vector<fs::path> shared_files(pid_t rank) {
  std::vector<fs::path> files;
  std::ifstream maps("/proc/" + std::to_string(rank) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t at = line.find('/');
    if (at == std::string::npos || line.ends_with(" (deleted)")) continue;
    const std::string path = line.substr(at);
    if (path.starts_with("/dev/shm/") || path.find("/ompi.") != std::string::npos)
      files.emplace_back(path);
  }
  return files;
}

TEST_F(RanksOfAProgram, AKilledMpiexecLeavesNoRankAndNoSharedMemory) {
  const auto process = running({"--ranks", "2"});
  const pid_t rank = rank_processes()[0];
  const std::vector<fs::path> files = shared_files(rank);
  ASSERT_FALSE(files.empty());
  ::kill(parent_of(rank), SIGKILL);
  const Ended ended = process->wait(std::chrono::seconds(25));
  EXPECT_TRUE(rank_processes().empty());
  EXPECT_EQ(ended.code, 1);
  expect_says(ended.err, {"mpiexec was ended by signal 9"});
  for (const fs::path& file : files) EXPECT_FALSE(fs::exists(file)) << file;
}

TEST_F(RanksOfAProgram, TheNextProgramRemovesWhatAKilledOneLeft) {
  const auto process = running({"--ranks", "2"});
  const pid_t rank = rank_processes()[0];
  const std::vector<fs::path> files = shared_files(rank);
  ASSERT_FALSE(files.empty());
  process->signal(SIGSTOP);  // so that it cannot clean up after mpiexec
  ::kill(parent_of(rank), SIGKILL);
  process->signal(SIGKILL);
  process->wait(std::chrono::seconds(25));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!rank_processes().empty() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(rank_processes().empty());
  trained({"--ranks", "2", "--out", "next"});
  for (const fs::path& file : files) EXPECT_FALSE(fs::exists(file)) << file;
}

TEST_F(RanksOfAProgram, AStoppedRankEndsTheJobWithinTheTimeLimitAndIsNamed) {
  const auto process = running({"--ranks", "3", "--set", "parallel.timeout=2"});
  ::kill(rank_processes()[2], SIGSTOP);
  const auto start = std::chrono::steady_clock::now();
  const Ended ended = process->wait(std::chrono::seconds(25));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2 + 5));
  EXPECT_EQ(ended.code, 1);
  expect_says(ended.err, {"waited 2 s", "for rank 2 on host"});
  expect_nobody_left();
  expect_resumable("3");
}

TEST_F(RanksOfAProgram, AFullDiskEndsTheJob) {
  make_folder(folder() / "run");
  if (::mount("none", (folder() / "run").c_str(), "tmpfs", 0, "size=16k") != 0)
    GTEST_SKIP() << "a small disk can be made by root only";
  const Ended ended = lockstep(train({"--ranks", "2", "--out", "run"}));
  ::umount((folder() / "run").c_str());
  EXPECT_EQ(ended.code, 1);
  expect_says(ended.err, {"rank 0 on host", "cannot write run/", "No space left"});
  expect_nobody_left();
}

TEST_F(RanksOfAProgram, StoppedByASignalResumeToTheSameBits) {
  for (const char* backend : {"mpi", "threads"})
    for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
      fs::remove_all(folder() / "run");
      trained({"--out", "whole", "--ranks", "2", "--backend", backend, "--set", "train.epochs=40"});
      const auto process =
          running({"--ranks", "2", "--backend", backend, "--set", "train.epochs=40"});
      process->signal(signal);
      const Ended ended = process->wait(std::chrono::seconds(30));
      EXPECT_EQ(ended.code, 0) << ended.err;
      if (Json::parse(ended.out)["ending"] == "interrupted") {
        const Ended rest = lockstep({"train", "--resume", "run", "--quiet", "--json"});
        EXPECT_EQ(rest.code, 0) << rest.err;
        EXPECT_EQ(Json::parse(rest.out)["ending"], "finished");
      }
      EXPECT_EQ(difference("whole", "run"), 0) << backend << signal;
    }
}

TEST_F(RanksOfAProgram, AnEarlierRunsCheckpointIsNotResumed) {
  trained({"--out", "run", "--set", "train.checkpoint_every=5"});
  EXPECT_GE(newest_checkpoint(), 0);
  trained({"--out", "run"});
  const Ended ended = lockstep({"train", "--resume", "run"});
  EXPECT_EQ(ended.code, 2);
  expect_says(ended.err, {"no checkpoint"});
}

TEST_F(RanksOfAProgram, MetricsOfAResumedRunHaveEveryStepOnce) {
  const auto process = running({"--ranks", "2"});
  ::kill(rank_processes()[1], SIGKILL);
  process->wait(std::chrono::seconds(25));
  std::ofstream(folder() / "run/metrics.jsonl", std::ios::app) << "{\"train/global_step\": 1, \"cu";
  const int64_t epochs = newest_checkpoint() / 10 + 2;
  const Ended ended = lockstep(
      {"train", "--resume", "run", "--quiet", "--set", "train.epochs=" + std::to_string(epochs)});
  EXPECT_EQ(ended.code, 0) << ended.err;
  std::map<int64_t, int> steps;
  std::ifstream lines(folder() / "run/metrics.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << line;
    if (json.contains("train/loss")) ++steps[json["train/global_step"].get<int64_t>()];
  }
  EXPECT_EQ(steps.size(), static_cast<size_t>(epochs * 10));
  EXPECT_EQ(steps.rbegin()->first, epochs * 10);
  for (const auto& [step, times] : steps) EXPECT_EQ(times, 1) << step;
}

TEST_F(RanksOfAProgram, KeepAModelWhenTrainingDiverges) {
  for (const char* backend : {"threads", "mpi"}) {
    const Ended ended =
        lockstep(train({"--out", backend, "--ranks", "2", "--backend", backend, "--set",
                        "optimizer.name=sgd", "--set", "optimizer.lr=1e30"}));
    EXPECT_EQ(ended.code, 1);
    expect_says(ended.err, {"diverged", "are kept"});
    EXPECT_TRUE(fs::exists(folder() / backend / "model/model.safetensors")) << backend;
  }
}

TEST_F(RanksOfAProgram, AnEarlySignalIsNotLost) {
  Process process(program(train({"--out", "run", "--ranks", "2", "--set", "train.epochs=1000000"})),
                  folder());
  std::this_thread::sleep_for(std::chrono::milliseconds(30 * slowdown));
  process.signal(SIGTERM);
  const Ended ended = process.wait(std::chrono::seconds(20 * slowdown));
  EXPECT_EQ(ended.code, 0) << ended.err;
}

}  // namespace
}  // namespace lockstep
