#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "data/data_testing.h"

namespace lockstep {

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

struct Ended {
  int code = -1;  // exit code, or 128 + the signal that ended it
  std::string out, err;
};

// Factor on time limits.
#ifdef LOCKSTEP_SANITIZED
constexpr int slowdown = 5;
#else
constexpr int slowdown = 1;
#endif

// A program that runs in a folder, without input; its output goes to files there.
class Process {
 public:
  Process(const Arguments& words, const fs::path& folder)
      : out_(folder / ".stdout"), err_(folder / ".stderr") {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ < 0) throw Failure("cannot fork");
    if (pid_ > 0) return;
    redirect(0, "/dev/null", O_RDONLY);
    redirect(1, out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC);
    redirect(2, err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC);
    if (::chdir(folder.c_str()) == 0) ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  ~Process() {
    if (pid_ > 0) end(SIGKILL);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void signal(int number) { ::kill(pid_, number); }

  Ended wait(std::chrono::seconds limit = std::chrono::seconds(60)) {
    limit *= slowdown;
    const auto deadline = std::chrono::steady_clock::now() + limit;
    int status = 0;
    while (::waitpid(pid_, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > deadline) {
        end(SIGKILL);
        ADD_FAILURE() << "took longer than " << limit.count() << " s";
        return {.out = read_text(out_), .err = read_text(err_)};
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    pid_ = 0;
    return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            .out = read_text(out_),
            .err = read_text(err_)};
  }

 private:
  static void redirect(int to, const char* path, int flags) {
    const int file = ::open(path, flags, 0600);
    if (file < 0 || ::dup2(file, to) < 0) ::_exit(127);
  }
  void end(int number) {
    signal(number);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  fs::path out_, err_;
  pid_t pid_ = 0;
};

// A test that runs the program in its own folder, with the shipped data only.
class CommandLine : public InFolder {
 protected:
  static Arguments program(Arguments arguments) {
    arguments.insert(arguments.begin(), LOCKSTEP_PROGRAM);
    return arguments;
  }
  Ended lockstep(const Arguments& arguments) {
    return Process(program(arguments), folder()).wait();
  }
  // A command line of bash, in which `lockstep` is the program.
  Ended shell(const std::string& line) {
    return Process({"bash", "-c", "lockstep() { \"" LOCKSTEP_PROGRAM "\" \"$@\"; }; " + line},
                   folder())
        .wait();
  }
  Json json(const Arguments& arguments) {
    const Ended ended = lockstep(arguments);
    EXPECT_EQ(ended.code, 0) << ended.err;
    const Json parsed = Json::parse(ended.out, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << "not JSON: " << ended.out;
    return parsed;
  }

 private:
  WithVariable share_{"LOCKSTEP_SHARE", LOCKSTEP_TESTS_FOLDER "/../data"};
  WithVariable cache_{"LOCKSTEP_DATA", (folder() / "no-cache").string()};
};

}  // namespace lockstep
