// Several ranks, started from the command line.

#include <sys/resource.h>

#include <set>
#include <sstream>

#include "app/ranks_testing.h"

namespace lockstep {
namespace {

TEST_F(RanksOfAProgram, TrainTheSameModelAsOneRankOnThreadsAndOnMpi) {
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

TEST_F(RanksOfAProgram, CanHaveSeveralThreadsEach) {
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

TEST_F(RanksOfAProgram, StartedByMpirunAreDetected) {
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
  expect_says(ended.err, {"rank 1 on host", "has a different configuration"});
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
  expect_says(ended.err, {"rank 1 on host", "has different training samples"});
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

TEST_F(RanksOfAProgram, ScatterGatherDistributesTheSamplesOfRankZero) {
  trained({"--set", "train.batch=full", "--out", "one"});
  for (const char* backend : {"threads", "mpi"}) {
    trained({"--set", "train.batch=full", "--ranks", "3", "--backend", backend, "--set",
             "parallel.strategy=scatter-gather", "--out", "many"});
    EXPECT_LT(difference("one", "many"), 1e-5) << backend;
  }
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
    std::getline(lines, line);  // header
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
  EXPECT_GT(listening, 0);  // mpiexec listens; else the loop above checked nothing
  process->signal(SIGTERM);
  process->wait(std::chrono::seconds(25));
}

TEST_F(RanksOfAProgram, WriteATraceWithOneLanePerRank) {
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

TEST_F(RanksOfAProgram, GetAValidSlurmScript) {
  const Ended ended = shell(
      "lockstep sbatch digits.toml --nodes 2 --ranks-per-node 4 --set \"name=it's\" > job.sh && "
      "bash -n "
      "job.sh && cat job.sh");
  EXPECT_EQ(ended.code, 0) << ended.err;
  expect_says(ended.out, {"--nodes=2", "--ntasks-per-node=4", "--requeue", "USR1"});
}

TEST_F(RanksOfAProgram, DoctorDescribesTheMachine) {
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

// Each thread needs memory for its stack, so the limit prevents some from starting.
TEST_F(RanksOfAProgram, MoreThreadsThanMemoryAllowsAreRefused) {
#if defined(LOCKSTEP_SANITIZED)
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

TEST_F(RanksOfAProgram, CanBeBenchmarked) {
  for (const char* backend : {"mpi", "threads"}) {
    const Json figures = json({"bench", "digits.toml", "--ranks", "2", "--backend", backend,
                               "--seconds", "0.2", "--json"});
    EXPECT_EQ(figures["ranks"], 2);
    EXPECT_EQ(figures["batch_per_rank"], 20);
    EXPECT_EQ(figures["global_batch"], 40);
    EXPECT_GT(figures["samples_per_second"], 0);
  }
}

}  // namespace
}  // namespace lockstep
