#include "job/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/backend/mpi.h"
#include "job/interrupt.h"
#include "job/job_folder.h"
#include "os/library.h"

namespace lockstep {
namespace {

// Environment variable with the program's name as typed: mpiexec starts ranks by path.
constexpr const char* typed_variable = "LOCKSTEP_TYPED";

std::vector<std::string> typed_words() {
  std::vector<std::string> words;
  std::ifstream all("/proc/self/cmdline");
  for (std::string word; std::getline(all, word, '\0');) words.push_back(word);
  if (words.empty()) throw Failure("cannot read /proc/self/cmdline, to start this program again");
  return words;
}

std::string mpiexec() {
  const char* path = std::getenv("PATH");
  const std::string folders = path ? path : "/usr/bin";
  for (size_t at = 0; at <= folders.size();) {
    const size_t end = std::min(folders.find(':', at), folders.size());
    std::string found = folders.substr(at, end - at) + "/mpiexec";
    if (::access(found.c_str(), X_OK) == 0) return found;
    at = end + 1;
  }
  throw UserError(
      "several ranks need mpiexec, which is not installed; try 'apt install openmpi-bin', or "
      "--backend threads");
}

std::atomic<bool> asked_to_stop{false};

extern "C" void ask_to_stop(int) { asked_to_stop.store(true); }

// mpiexec kills its ranks on SIGTERM and SIGINT but forwards SIGUSR1, on which they write a
// checkpoint and exit. Sent every second, but not in the first second, in which ranks start.
class Stopper {
 public:
  void look(pid_t mpiexec) {
    const auto now = std::chrono::steady_clock::now();
    if (!asked_to_stop.load() || now < next_) return;
    ::kill(mpiexec, SIGUSR1);
    next_ = now + std::chrono::seconds(1);
  }

 private:
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(1);
};

// Forwards the ranks' stderr and replaces mpiexec's banners by one line.
class MpiexecOutput {
 public:
  void add(std::string_view text) {
    for (const char c : text) {
      line_ += c;
      if (c == '\n') end_line();
    }
    // Progress bars have no end of line; banners and Open MPI's remarks start with '-' or '['.
    if (!in_banner_ && !line_.empty() && line_[0] != '-' && line_[0] != '[') pass_on_line();
  }

  // Prints how the job ended, if mpiexec reported it.
  void conclude() const {
    static const std::regex ended(
        "process rank (\\d+) with PID \\d+ on\\s+node (\\S+) exited\\s+on\\s+signal (\\d+)");
    std::smatch found;
    if (std::regex_search(banners_, found, ended))
      std::fprintf(stderr,
                   "lockstep: rank %s on host %s was ended by signal %s (%s); all ranks were "
                   "stopped\n",
                   found[1].str().c_str(), found[2].str().c_str(), found[3].str().c_str(),
                   ::strsignal(std::stoi(found[3].str())));
    else if (!banners_.empty() && banners_.find("MPI_ABORT") == std::string::npos &&
             banners_.find("non-zero") == std::string::npos)
      std::fprintf(stderr, "lockstep: mpiexec says: %s", banners_.c_str());
  }

 private:
  void end_line() {
    if (line_.starts_with("--------------------")) {
      in_banner_ = !in_banner_;
      line_.clear();
    } else if (in_banner_) {
      banners_ += line_;
      line_.clear();
    } else if (std::regex_search(line_, remark_)) {
      line_.clear();
    } else {
      pass_on_line();
    }
  }
  void pass_on_line() {
    std::fwrite(line_.data(), 1, line_.size(), stderr);
    std::fflush(stderr);
    line_.clear();
  }

  std::regex remark_{"^\\[[^ \\]]+:\\d+\\] "};  // "[host:pid] ...": Open MPI on a lost peer
  std::string line_, banners_;
  bool in_banner_ = false;
};

// Whether a batch system or a list of hosts may place ranks on other machines.
bool may_use_other_hosts() {
  const char* nodes = std::getenv("SLURM_JOB_NUM_NODES");
  if (nodes && std::atoi(nodes) > 1) return true;
  for (const char* name : {"PBS_NODEFILE", "LSB_HOSTS", "OMPI_MCA_orte_default_hostfile"})
    if (std::getenv(name)) return true;
  return false;
}

std::string listen_library() {
  for (const std::filesystem::path& place : library_places("lockstep_listen.so"))
    if (::access(place.c_str(), R_OK) == 0) return std::filesystem::canonical(place).string();
  throw Failure(
      "cannot find lockstep_listen.so beside the program or in lib/lockstep; install "
      "lockstep again");
}

// Sets a parameter of Open MPI unless the user has set it.
void prefer(const char* parameter, const std::string& value) {
  ::setenv((std::string("OMPI_MCA_") + parameter).c_str(), value.c_str(), 0);
}

// Ranks on one machine use shared memory and open no ports; mpiexec's ports are reachable from this
// machine only. Returns additional arguments for mpiexec.
std::vector<std::string> stay_on_this_host(const std::filesystem::path& shared) {
  prefer("orte_tmpdir_base", shared.string());
  prefer("btl_vader_backing_directory", shared.string());
  if (may_use_other_hosts()) return {};
  prefer("pml", "ob1");
  prefer("btl", "self,vader");
  prefer("oob_tcp_if_include", "lo");
  // Preloaded by mpiexec only: ranks get the previous value.
  const char* before = std::getenv("LD_PRELOAD");
  const std::string restored = before ? before : "";
  // A link without spaces in its path: in LD_PRELOAD, spaces separate names.
  const std::filesystem::path library = shared / "lockstep_listen.so";
  std::filesystem::create_symlink(listen_library(), library);
  ::setenv("LD_PRELOAD", (library.string() + (before ? ":" : "") + restored).c_str(), 1);
  return {"-x", "LD_PRELOAD=" + restored};
}

// Arguments of mpiexec that place ranks on hosts, whose list is written to the job's folder.
std::vector<std::string> spread_over(const Hosts& hosts, int64_t ranks,
                                     const std::filesystem::path& shared) {
  const auto count = static_cast<int64_t>(hosts.all.size());
  std::string list;
  for (const Hosts::Host& host : hosts.all)
    list += fmt::format("{} slots={}\n", host.name,
                        host.slots > 0 ? host.slots : (ranks + count - 1) / count);
  write_file(shared / "hosts", list);
  std::vector<std::string> words = {"--hostfile", (shared / "hosts").string(), "--map-by", "slot"};
  const auto set = [&](const char* parameter, const std::string& value) {
    if (!value.empty() && !std::getenv((std::string("OMPI_MCA_") + parameter).c_str()))
      words.insert(words.end(), {"--mca", parameter, value});
  };
  set("pml", "ob1");
  set("btl", "self,vader,tcp");
  set("plm_rsh_agent", hosts.agent.string());
  set("btl_tcp_if_include", hosts.network);
  set("oob_tcp_if_include", hosts.network);
  for (const char* name : {"LOCKSTEP_DATA", "LOCKSTEP_SHARE", "LOCKSTEP_TERMINAL", typed_variable})
    if (std::getenv(name)) words.insert(words.end(), {"-x", name});
  // Hosts of an emulated cluster have folders of their own in this one (see their agent).
  ::setenv("LOCKSTEP_JOB_FOLDER", shared.c_str(), 1);
  return words;
}

// Kills ranks whose mpiexec was killed: they have become children of this process.
void end_orphans() {
  const std::string path = "/proc/self/task/" + std::to_string(::getpid()) + "/children";
  for (;;) {
    std::ifstream children(path);
    pid_t child = 0;
    if (!(children >> child)) return;
    ::kill(child, SIGKILL);
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

// Sets what mpiexec and the ranks read from the environment.
void prepare_environment() {
  if (::geteuid() == 0) {  // Open MPI needs both
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  }
  if (winsize size{}; ::isatty(STDERR_FILENO)) {  // ranks see a pipe, not the terminal
    ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
    ::setenv("LOCKSTEP_TERMINAL", std::to_string(std::max<int>(1, size.ws_col)).c_str(), 1);
  }
  ::setenv(typed_variable, typed_words().front().c_str(), 1);
}

// Returns the exit code.
int run_job(const std::vector<std::string>& program, int64_t ranks, const Hosts& hosts) {
  std::vector<std::string> words = {mpiexec(), "--oversubscribe",    "--bind-to", "none",
                                    "-n",      std::to_string(ranks)};
  prepare_environment();
  const JobFolder shared;
  for (const std::string& word :
       hosts.empty() ? stay_on_this_host(shared.path()) : spread_over(hosts, ranks, shared.path()))
    words.push_back(word);
  words.insert(words.end(), program.begin(), program.end());
  if (hosts.emulated) words = words_on_host(hosts, hosts.all.front().name, words);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::fflush(nullptr);
  int errors[2];
  if (::pipe2(errors, O_CLOEXEC) != 0)
    throw Failure("cannot make a pipe: {}", std::strerror(errno));
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) std::signal(signal, ask_to_stop);
  if (was_interrupted()) asked_to_stop.store(true);  // before these handlers were installed
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t started = ::fork();
  if (started < 0) throw Failure("cannot start mpiexec: {}", std::strerror(errno));
  if (started == 0) {
    ::setpgid(0, 0);  // Ctrl-C reaches the parent only
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(errors[1], STDERR_FILENO);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  ::close(errors[1]);
  MpiexecOutput output;
  std::array<char, 4096> chunk;
  Stopper stopper;
  for (ssize_t count = 1; count != 0;) {
    stopper.look(started);
    pollfd ready{errors[0], POLLIN, 0};
    if (::poll(&ready, 1, 100) <= 0) continue;  // timeout or signal
    count = ::read(errors[0], chunk.data(), chunk.size());
    if (count > 0) output.add({chunk.data(), static_cast<size_t>(count)});
    if (count < 0 && errno != EINTR) break;
  }
  int status = 0;
  while (::waitpid(started, &status, 0) < 0 && errno == EINTR) {
  }
  ::kill(-started, SIGKILL);  // the rest of its process group
  end_orphans();
  output.conclude();
  if (WIFSIGNALED(status)) {
    std::fprintf(stderr, "lockstep: mpiexec was ended by signal %d\n", WTERMSIG(status));
    return 1;
  }
  const int code = WEXITSTATUS(status);
  return code == 0 || code == 2 ? code : 1;
}

}  // namespace

std::vector<std::string> own_words() {
  std::vector<std::string> words = typed_words();
  words[0] = std::filesystem::read_symlink("/proc/self/exe").string();
  return words;
}

std::string typed_program() {
  if (const char* typed = std::getenv(typed_variable)) return typed;
  return mpi_job_size() == 0 ? typed_words().front() : "";
}

std::string shell_word(const std::string& word) {
  constexpr const char* plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:,@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

void launch_ranks(int64_t ranks, const Hosts& hosts) {
  std::_Exit(run_job(own_words(), ranks, hosts));
}

void launch_program(const std::vector<std::string>& program, int64_t ranks, const Hosts& hosts) {
  std::_Exit(run_job(program, ranks, hosts));
}

}  // namespace lockstep
