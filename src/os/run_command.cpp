#include "os/run_command.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "base/error.h"

namespace lockstep {
namespace {

std::string last_line(const fs::path& log) {
  std::string text = read_text(log);
  while (!text.empty() && std::strchr("\n\r ", text.back())) text.pop_back();
  const size_t start = text.rfind('\n');
  if (start != std::string::npos) text.erase(0, start + 1);
  return text.empty() ? "it printed nothing" : text.substr(0, 300);
}

// Output goes to a log rather than a pipe, which would have to be read while the program runs.
pid_t start(const std::vector<std::string>& words, const fs::path& folder, const fs::path& log) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const std::unique_ptr<posix_spawn_file_actions_t, int (*)(posix_spawn_file_actions_t*)> freed(
      &actions, posix_spawn_file_actions_destroy);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  const std::unique_ptr<posix_spawnattr_t, int (*)(posix_spawnattr_t*)> freed_too(
      &attributes, posix_spawnattr_destroy);
  // A separate process group, so that the program's children can be killed with it.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);

  pid_t pid = 0;
  const int error =
      posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  if (error != 0) throw Failure("cannot start {}: {}", words[0], std::strerror(error));
  return pid;
}

}  // namespace

void run_command(const std::vector<std::string>& words, const fs::path& folder,
                 std::chrono::milliseconds limit, const fs::path& own_log,
                 const std::atomic<bool>* stop) {
  const fs::path log = fs::absolute(own_log.empty() ? folder / (words[0] + ".log") : own_log);
  auto deadline = std::chrono::steady_clock::now() + limit;
  const pid_t pid = start(words, folder, log);
  int status = 0;
  bool asked = false;
  for (;;) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid) break;
    if (ended < 0 && errno != EINTR)
      throw Failure("cannot wait for {}: {}", words[0], std::strerror(errno));
    if (stop && !asked && stop->load()) {
      asked = true;
      ::kill(pid, SIGTERM);
      deadline = std::min(deadline, std::chrono::steady_clock::now() + std::chrono::seconds(30));
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      ::kill(-pid, SIGKILL);
      while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
      }
      if (asked)
        throw Failure("{} did not end within 30 s of being asked to, and was killed", words[0]);
      throw Failure("{} took longer than {} s and was stopped", words[0],
                    std::chrono::duration<double>(limit).count());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (WIFSIGNALED(status))
    throw Failure("{} was ended by signal {}: {}", words[0], WTERMSIG(status), last_line(log));
  if (WEXITSTATUS(status) != 0)
    throw Failure("{} ended with code {}: {}", words[0], WEXITSTATUS(status), last_line(log));
}

}  // namespace lockstep
