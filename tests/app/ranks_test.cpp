// Several ranks as a user starts them, and what happens when one of them has an accident.

#include <sys/mount.h>
#include <sys/resource.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "app/process_testing.h"
#include "nn/safetensors.h"

namespace lockstep {
namespace {

constexpr const char* digits = R"(
name = "digits"
[model]
layers = ["conv 4 3x3 relu", "maxpool 2", "dropout 0.2", "dense 24 relu", "dense 10"]
[data]
name = "mnist-sample"
limit = 400
[train]
epochs = 2
batch = 40
[parallel]
batch = "global"
timeout = 20
)";

class RanksOfAProgram : public CommandLine {
 protected:
  RanksOfAProgram() {
    write("digits.toml", digits);
    if (::geteuid() == 0) {
      ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
      ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    }
  }

  Arguments train(const Arguments& more) {
    Arguments all = {"train", "digits.toml", "--quiet", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // Replaces what an earlier one of the test left.
  Json trained(const Arguments& more) {
    Arguments all = train(more);
    all.emplace_back("--force");
    return json(all);
  }

  double difference(const std::string& a, const std::string& b) {
    const auto one = read_safetensors(folder() / a / "model/model.safetensors").tensors;
    const auto two = read_safetensors(folder() / b / "model/model.safetensors").tensors;
    double largest = one.size() == two.size() ? 0 : 1e9;
    for (size_t t = 0; t < one.size() && t < two.size(); ++t)
      for (size_t i = 0; i < one[t].values.size(); ++i)
        largest = std::max(largest, std::abs(double(one[t].values[i]) - two[t].values[i]));
    return largest;
  }

  // Processes that run in this test's folder: the program, mpiexec and ranks.
  std::vector<pid_t> processes_here() {
    std::vector<pid_t> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      if (fs::read_symlink(entry.path() / "cwd", ignored) == folder())
        found.push_back(std::stoi(name));
    }
    return found;
  }
  std::map<int, pid_t> rank_processes() {
    std::map<int, pid_t> found;
    for (const pid_t pid : processes_here()) {
      std::ifstream environment(fmt::format("/proc/{}/environ", pid));
      const std::string key = "OMPI_COMM_WORLD_RANK=";
      for (std::string word; std::getline(environment, word, '\0');)
        if (word.starts_with(key)) found[std::stoi(word.substr(key.size()))] = pid;
    }
    return found;
  }
  static pid_t parent_of(pid_t pid) {
    std::ifstream status(fmt::format("/proc/{}/status", pid));
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("PPid:")) return std::stoi(line.substr(5));
    return 0;
  }

  // The step of the newest checkpoint in "run" that is whole; -1: there is none.
  int64_t newest_checkpoint() const {
    int64_t newest = -1;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder() / "run/checkpoints", ignored))
      if (fs::exists(entry.path() / "digests.txt"))
        newest = std::max<int64_t>(newest, std::stoll(entry.path().filename().string().substr(5)));
    return newest;
  }

  // A run without end, once it has made some steps.
  std::unique_ptr<Process> running(const Arguments& more) {
    Arguments arguments = train({"--out", "run", "--set", "train.epochs=1000000", "--set",
                                 "train.log_every=1", "--set", "train.checkpoint_every=50"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    auto process = std::make_unique<Process>(program(arguments), folder());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (newest_checkpoint() < 0 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_GE(newest_checkpoint(), 0) << "training did not start";
    return process;
  }

  void expect_nobody_left() {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_TRUE(rank_processes().empty());
  }
  // The newest checkpoint is whole: training goes on from it.
  void expect_resumable(const std::string& ranks) {
    const int64_t epochs = newest_checkpoint() / 10 + 2;
    const Ended ended = lockstep({"train", "--resume", "run", "--quiet", "--ranks", ranks, "--set",
                                  "train.epochs=" + std::to_string(epochs)});
    EXPECT_EQ(ended.code, 0) << ended.err;
  }
};

TEST_F(RanksOfAProgram, EqualOneRankOnThreadsAndOnMpi) {
  const std::string mlp = "model.layers=[\"dense 32 relu\", \"dropout 0.2\", \"dense 10\"]";
  for (const std::string& network : {std::string("seed=1"), mlp}) {
    trained({"--out", "one", "--set", "train.epochs=5", "--set", network});
    for (const char* backend : {"threads", "mpi"})
      for (const char* ranks : {"2", "3", "4", "7"})
        for (const char* strategy : {"all-reduce", "reduce-broadcast"}) {
          const Json summary = trained({"--out", "many", "--ranks", ranks, "--backend", backend,
                                        "--set", "train.epochs=5", "--set", network, "--set",
                                        std::string("parallel.strategy=") + strategy});
          EXPECT_LT(difference("one", "many"), 1e-5) << backend << ranks << strategy;
          EXPECT_EQ(std::to_string(summary["parallel"]["ranks"].get<int>()), ranks);
        }
  }
}

TEST_F(RanksOfAProgram, HaveThreadsOfTheirOwn) {
  trained({"--out", "one"});
  const Json summary =
      trained({"--out", "many", "--ranks", "2", "--threads", "2", "--baseline", "one"});
  EXPECT_LT(difference("one", "many"), 1e-5);
  EXPECT_GT(summary["parallel"]["speed_up"], 0);
  EXPECT_NEAR(summary["parallel"]["efficiency"].get<double>(),
              summary["parallel"]["speed_up"].get<double>() / 2, 1e-9);
}

TEST_F(RanksOfAProgram, GiveTheSameBitsInReproducibleMode) {
  trained({"--out", "one", "--set", "parallel.mode=reproducible"});
  for (const char* backend : {"threads", "mpi"})
    for (const char* ranks : {"2", "4", "8"}) {
      trained({"--out", "many", "--ranks", ranks, "--backend", backend, "--set",
               "parallel.mode=reproducible"});
      EXPECT_EQ(difference("one", "many"), 0) << backend << ranks;
    }
}

TEST_F(RanksOfAProgram, EveryStrategyRunsOnMpi) {
  for (const char* strategy : {"all-reduce", "reduce-broadcast", "parameter-server",
                               "average-weights", "average-gradients-per-epoch", "scatter-gather"})
    EXPECT_EQ(trained({"--out", "run", "--ranks", "3", "--set",
                       std::string("parallel.strategy=") + strategy})["ending"],
              "finished")
        << strategy;
}

TEST_F(RanksOfAProgram, AreFoundWhenMpirunStartedThem) {
  const Ended ended = shell("mpirun --oversubscribe --bind-to none -n 3 " LOCKSTEP_PROGRAM
                            " train digits.toml --quiet --json --out run");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(Json::parse(ended.out)["parallel"]["ranks"], 3);
}

TEST_F(RanksOfAProgram, MustAgreeOnWhatToTrain) {
  const Ended ended = shell("mpirun --oversubscribe --bind-to none -n 1 " LOCKSTEP_PROGRAM
                            " train digits.toml --quiet --out run : -n 1 " LOCKSTEP_PROGRAM
                            " train digits.toml --quiet --out run --set seed=2");
  EXPECT_NE(ended.code, 0);
  expect_says(ended.err, {"rank 1 has another configuration"});
}

TEST_F(RanksOfAProgram, MustHaveTheSameSamples) {
  write("a/points.csv", "x,y,label\n1,2,a\n2,1,b\n3,4,a\n4,3,b\n");
  write("b/points.csv", "x,y,label\n1,2,a\n2,1,b\n3,9,a\n4,3,b\n");
  write("points.toml",
        "[model]\nlayers = [\"dense 2\"]\n[data]\nname = \"csv\"\npath = \"points.csv\"\n");
  const std::string words =
      " " LOCKSTEP_PROGRAM " train ../points.toml --quiet --set train.batch=2 --out run ";
  const Ended ended = shell("mpirun --oversubscribe --bind-to none -n 1 --wdir $PWD/a" + words +
                            ": -n 1 --wdir $PWD/b" + words);
  EXPECT_NE(ended.code, 0);
  expect_says(ended.err, {"rank 1 has other training samples"});
}

TEST_F(RanksOfAProgram, ReadOnlyTheirOwnPart) {
  // The shipped sample is compressed; plain files can be read in parts.
  shell("for f in '" LOCKSTEP_TESTS_FOLDER
        "'/../data/mnist-sample/*.gz; do n=$(basename $f .gz); gunzip -c $f > $n; done");
  const Arguments plain = {
      "--set",        "data.name=idx", "--set", "data.path=.", "--set",
      "data.limit=0", "--ranks",       "3",     "--set",       "parallel.parts=contiguous"};
  for (const char* backend : {"threads", "mpi"}) {
    Arguments all = plain, own = plain;
    for (const char* word : {"--backend", backend, "--out", "all"}) all.emplace_back(word);
    for (const char* word :
         {"--backend", backend, "--out", "own", "--set", "data.reading=own-part"})
      own.emplace_back(word);
    trained(all);
    trained(own);
    EXPECT_EQ(difference("all", "own"), 0) << backend;
  }
  const auto refused = [&](const Arguments& more, const std::string& part) {
    Arguments arguments = {"--ranks", "2", "--set", "data.reading=own-part", "--out", "run"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended ended = lockstep(train(arguments));
    EXPECT_EQ(ended.code, 2);
    expect_says(ended.err, {part});
  };
  refused({}, "data.limit");
  refused({"--set", "data.limit=0"}, "compressed");
  refused({"--set", "data.name=iris", "--set", "data.limit=0"}, "IDX");
}

TEST_F(RanksOfAProgram, ScatterGatherDealsOutTheSamplesOfRankZero) {
  trained({"--set", "train.batch=full", "--out", "one"});
  for (const char* backend : {"threads", "mpi"}) {
    trained({"--set", "train.batch=full", "--ranks", "3", "--backend", backend, "--set",
             "parallel.strategy=scatter-gather", "--out", "many"});
    EXPECT_LT(difference("one", "many"), 1e-5) << backend;
  }
}

TEST_F(RanksOfAProgram, AKilledRankEndsTheJobAndIsNamed) {
  const auto process = running({"--ranks", "3"});
  ::kill(rank_processes()[1], SIGKILL);
  const Ended ended = process->wait(std::chrono::seconds(25));
  EXPECT_EQ(ended.code, 1);
  expect_says(ended.err, {"rank 1 on host", "signal 9"});
  expect_nobody_left();
  expect_resumable("3");
}

// Files in memory or of MPI's session that a rank has mapped.
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

TEST_F(RanksOfAProgram, WhatAKilledProgramLeavesIsRemovedByTheNextOne) {
  const auto process = running({"--ranks", "2"});
  const pid_t rank = rank_processes()[0];
  const std::vector<fs::path> files = shared_files(rank);
  ASSERT_FALSE(files.empty());
  process->signal(SIGSTOP);  // it has no time to clean up after mpiexec
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

TEST_F(RanksOfAProgram, CannotBeReachedFromOtherMachines) {
  const auto process = running({"--ranks", "2"});
  std::set<std::string> sockets;
  for (const pid_t pid : processes_here()) {
    std::error_code ignored;
    for (const auto& file : fs::directory_iterator(fmt::format("/proc/{}/fd", pid), ignored))
      sockets.insert(fs::read_symlink(file, ignored));
  }
  int listening = 0;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(table);
    std::string line;
    std::getline(lines, line);  // titles
    while (std::getline(lines, line)) {
      std::istringstream words(line);
      std::string number, local, remote, state, queues, timer, retransmits, user, timeout, inode;
      words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> user >>
          timeout >> inode;
      if (state != "0A" || !sockets.contains("socket:[" + inode + "]")) continue;
      ++listening;
      const std::string address = local.substr(0, local.find(':'));
      EXPECT_TRUE(address == "0100007F" || address == "00000000000000000000000001000000")
          << table << ": " << line;
    }
  }
  EXPECT_GT(listening, 0);  // mpiexec does, else this looked at nothing
  process->signal(SIGTERM);
  process->wait(std::chrono::seconds(25));
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

TEST_F(RanksOfAProgram, StopOnASignalAndGoOnToTheSameBits) {
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

TEST_F(RanksOfAProgram, ThatDivergeTogetherKeepAModel) {
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
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  process.signal(SIGTERM);
  const Ended ended = process.wait(std::chrono::seconds(20));
  EXPECT_EQ(ended.code, 0) << ended.err;
}

TEST_F(RanksOfAProgram, LeaveATraceWithALaneEach) {
  trained({"--out", "run", "--ranks", "2", "--trace"});
  const Json trace = Json::parse(read_text(folder() / "run/trace.json"));
  std::map<int, std::set<std::string>> lanes;
  for (const Json& event : trace["traceEvents"])
    if (event["ph"] == "X") {
      lanes[event["tid"].get<int>()].insert(event["name"].get<std::string>());
      EXPECT_GE(event["ts"].get<double>(), 0);
      EXPECT_GE(event["dur"].get<double>(), 0);
    }
  ASSERT_EQ(lanes.size(), 2u);
  for (const auto& [rank, names] : lanes)
    for (const char* name : {"load", "forward and backward", "communication", "update", "evaluate"})
      EXPECT_TRUE(names.contains(name)) << rank << name;
}

TEST_F(RanksOfAProgram, GetASlurmScriptThatBashUnderstands) {
  const Ended ended = shell(
      "lockstep sbatch digits.toml --nodes 2 --ranks-per-node 4 --set \"name=it's\" > job.sh && "
      "bash -n "
      "job.sh && cat job.sh");
  EXPECT_EQ(ended.code, 0) << ended.err;
  expect_says(ended.out, {"--nodes=2", "--ntasks-per-node=4", "--requeue", "USR1"});
}

TEST_F(RanksOfAProgram, AndTheirMachineIsLookedAt) {
  const Json found = json({"doctor", "--json"});
  for (const char* what : {"cores", "memory", "mpiexec", "sgemm peak, one core", "hurts"})
    EXPECT_TRUE(found.contains(what)) << what;
}

TEST_F(RanksOfAProgram, MistakesAreExplained) {
  const auto refused = [&](const Arguments& more, const std::vector<std::string>& parts) {
    const Ended ended = lockstep(train(more));
    EXPECT_EQ(ended.code, 2);
    for (const std::string& part : parts) expect_says(ended.err, {part});
  };
  refused({"--ranks", "41"}, {"batch of 40", "41 ranks"});
  refused({"--ranks", "2", "--affinity", "0,9999"}, {"core 9999 does not exist"});
  refused({"--ranks", "2", "--affinity", "compakt"}, {"compakt", "compact"});
  refused({"--ranks", "2", "--set", "parallel.strategy=allreduce"}, {"all-reduce"});
  refused({"--ranks", "0"}, {"--ranks"});
  refused({"--resume", "run"}, {"name what to train"});
  refused({"--ranks", "2", "--set", "data.reading=own-part", "--set", "data.limit=0", "--set",
           "parallel.mode=reproducible"},
          {"shuffled"});
  const Ended ended =
      shell("PATH=/nowhere " LOCKSTEP_PROGRAM " train digits.toml --ranks 2 --out run");
  EXPECT_EQ(ended.code, 2);
  expect_says(ended.err, {"mpiexec", "openmpi-bin", "--backend threads"});
}

// Each thread needs room for its stack: a limit on memory refuses the later ones.
TEST_F(RanksOfAProgram, MoreThreadsThanMemoryAllowsAreRefused) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers reserve more memory than the limit of this test";
#endif
  for (const char* many : {"--threads 1000", "--ranks 300 --backend threads"}) {
    const Ended ended = Process({"bash", "-c",
                                 std::string("ulimit -v 2000000; exec " LOCKSTEP_PROGRAM
                                             " train digits.toml --quiet --set train.batch=400 "
                                             "--out run ") +
                                     many},
                                folder())
                            .wait(std::chrono::seconds(20));
    EXPECT_EQ(ended.code, 1) << many << ended.err;
    expect_says(ended.err, {"threads were asked for", "the system refused", "try fewer"});
  }
}

TEST_F(RanksOfAProgram, ShowWhereTheyAreBound) {
  const Ended ended = lockstep({"train", "digits.toml", "--ranks", "2", "--backend", "threads",
                                "--affinity", "0,0", "--out", "run"});
  EXPECT_EQ(ended.code, 0);
  expect_says(ended.err, {"core", "rank 0", "rank 1", "■"});
  expect_says(ended.out, {"oversubscribed"});
}

TEST_F(RanksOfAProgram, AreBenchedToo) {
  for (const char* backend : {"mpi", "threads"}) {
    const Json figures = json({"bench", "digits.toml", "--ranks", "2", "--backend", backend,
                               "--seconds", "0.2", "--json"});
    EXPECT_EQ(figures["ranks"], 2);
    EXPECT_GT(figures["samples_per_second"], 0);
  }
}

}  // namespace
}  // namespace lockstep
