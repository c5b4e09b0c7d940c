#include "os/apart.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"

namespace lockstep {
namespace {

void write_all(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(fd, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) ::_exit(1);
    done += static_cast<size_t>(count);
  }
}

// The first character says what follows: a result, a UserError or a Failure.
std::string outcome(const std::function<std::string()>& work) {
  try {
    return "r" + work();
  } catch (const UserError& error) {
    return std::string("u") + error.what();
  } catch (const std::exception& error) {
    return std::string("f") + error.what();
  }
}

}  // namespace

std::string run_apart(const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Failure("cannot make a pipe: {}", std::strerror(errno));
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) {
    const std::string reason = std::strerror(errno);
    ::close(ends[0]);
    ::close(ends[1]);
    throw Failure("cannot start a process: {}", reason);
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ends[0]);
    write_all(ends[1], outcome(work));
    std::fflush(nullptr);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char chunk[65536];
  for (ssize_t count; (count = ::read(ends[0], chunk, sizeof(chunk))) != 0;) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    text.append(chunk, static_cast<size_t>(count));
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status))
    throw Failure("a child process was killed by signal {} ({})", WTERMSIG(status),
                  ::strsignal(WTERMSIG(status)));
  if (text.empty()) throw Failure("a child process exited without a result");
  if (text[0] == 'u') throw UserError("{}", text.substr(1));
  if (text[0] == 'f') throw Failure("{}", text.substr(1));
  return text.substr(1);
}

}  // namespace lockstep
