#include "launch.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"

namespace lockstep {
namespace {

std::vector<std::string> own_words() {
  std::vector<std::string> words;
  std::ifstream all("/proc/self/cmdline");
  for (std::string word; std::getline(all, word, '\0');) words.push_back(word);
  if (words.empty()) throw Failure("cannot read /proc/self/cmdline, to start this program again");
  words[0] = std::filesystem::read_symlink("/proc/self/exe").string();
  return words;
}

std::string mpiexec() {
  const char* path = std::getenv("PATH");
  const std::string folders = path ? path : "/usr/bin";
  for (size_t at = 0; at <= folders.size();) {
    const size_t end = std::min(folders.find(':', at), folders.size());
    const std::string found = folders.substr(at, end - at) + "/mpiexec";
    if (::access(found.c_str(), X_OK) == 0) return found;
    at = end + 1;
  }
  throw UserError(
      "several ranks need mpiexec, which is not installed; try 'apt install openmpi-bin', or "
      "--backend threads");
}

volatile pid_t started = 0;

// mpiexec would end its ranks at once on SIGTERM and SIGINT, but passes SIGUSR1 on to them: they
// write a checkpoint and leave.
extern "C" void pass_on(int) {
  if (started > 0) ::kill(started, SIGUSR1);
}

}  // namespace

void launch_ranks(int64_t ranks) {
  std::vector<std::string> words = {mpiexec(), "-q", "--oversubscribe",    "--bind-to",
                                    "none",    "-n", std::to_string(ranks)};
  for (const std::string& word : own_words()) words.push_back(word);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  if (::geteuid() == 0) {  // Open MPI asks twice
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  }
  if (::isatty(STDERR_FILENO)) ::setenv("LOCKSTEP_TERMINAL", "1", 1);
  std::fflush(nullptr);
  started = ::fork();
  if (started < 0) throw Failure("cannot start mpiexec: {}", std::strerror(errno));
  if (started == 0) {
    ::setpgid(0, 0);  // Ctrl-C reaches the parent only
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) std::signal(signal, pass_on);
  int status = 0;
  while (::waitpid(started, &status, 0) < 0 && errno == EINTR) {
  }
  ::kill(-started, SIGKILL);  // whoever is left of its group
  if (WIFSIGNALED(status)) {
    std::fprintf(stderr, "lockstep: mpiexec was ended by signal %d\n", WTERMSIG(status));
    std::_Exit(1);
  }
  const int code = WEXITSTATUS(status);
  std::_Exit(code == 0 || code == 2 ? code : 1);
}

}  // namespace lockstep
