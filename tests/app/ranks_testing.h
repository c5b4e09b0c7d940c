#pragma once

// Runs of the program on several ranks: starting them, finding their processes, comparing models.

#include <fstream>
#include <map>

#include "app/process_testing.h"
#include "nn/files/safetensors.h"

namespace lockstep {

inline constexpr const char* digits = R"(
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
  // Replaces the run of an earlier call.
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

  // The step of the newest complete checkpoint in "run"; -1: none.
  int64_t newest_checkpoint() const {
    int64_t newest = -1;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder() / "run/checkpoints", ignored))
      if (fs::exists(entry.path() / "digests.txt"))
        newest = std::max<int64_t>(newest, std::stoll(entry.path().filename().string().substr(5)));
    return newest;
  }

  // Starts an endless run and waits for its first checkpoint.
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
  // Training can be resumed from the newest checkpoint.
  void expect_resumable(const std::string& ranks) {
    const int64_t epochs = newest_checkpoint() / 10 + 2;
    const Ended ended = lockstep({"train", "--resume", "run", "--quiet", "--ranks", ranks, "--set",
                                  "train.epochs=" + std::to_string(epochs)});
    EXPECT_EQ(ended.code, 0) << ended.err;
  }
};

}  // namespace lockstep
