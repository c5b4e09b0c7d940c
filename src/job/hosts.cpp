#include "job/hosts.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "base/nearest.h"
#include "cluster/emulated_cluster.h"
#include "cluster/network_plan.h"
#include "job/launch.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto answer_limit = std::chrono::seconds(8);

// A program that answers with what it prints.
struct Question {
  std::string host;
  pid_t process = 0;
  int output = -1;
  std::string answer;
  bool ended = false;
  int status = 0;
};

Question ask(const Hosts& hosts, const std::string& host) {
  std::vector<std::string> words = words_on_host(hosts, host, {own_words().front(), "--version"});
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int answer[2];
  if (::pipe2(answer, O_CLOEXEC) != 0)
    throw Failure("cannot make a pipe: {}", std::strerror(errno));
  const pid_t process = ::fork();
  if (process < 0) throw Failure("cannot start {}: {}", words[0], std::strerror(errno));
  if (process == 0) {
    ::setpgid(0, 0);
    ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    ::dup2(answer[1], STDOUT_FILENO);
    ::dup2(answer[1], STDERR_FILENO);
    ::execvp(pointers[0], pointers.data());
    ::_exit(127);
  }
  ::close(answer[1]);
  return {.host = host, .process = process, .output = answer[0]};
}

// Waits until the program has ended or the time is over, when it is killed.
void hear(Question& question, Clock::time_point deadline) {
  std::array<char, 4096> chunk;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd ready{question.output, POLLIN, 0};
    if (left <= 0 || ::poll(&ready, 1, static_cast<int>(left)) == 0) break;
    const ssize_t count = ::read(question.output, chunk.data(), chunk.size());
    if (count > 0) question.answer.append(chunk.data(), static_cast<size_t>(count));
    question.ended = count == 0;
    if (question.ended || (count < 0 && errno != EINTR)) break;
  }
  ::close(question.output);
  if (!question.ended) ::kill(-question.process, SIGKILL);
  while (::waitpid(question.process, &question.status, 0) < 0 && errno == EINTR) {
  }
}

std::string last_line(std::string text) {
  while (!text.empty() && std::strchr("\r\n ", text.back())) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

int64_t Hosts::slots() const {
  int64_t sum = 0;
  for (const Host& host : all) sum += std::max(1, host.slots);
  return sum;
}

Hosts parse_hosts(const std::string& list) {
  Hosts hosts;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string item = list.substr(at, end - at);
    const size_t colon = item.find(':');
    Hosts::Host host{item.substr(0, colon), 0};
    if (host.name.empty() || host.name.starts_with('-') ||
        host.name.find_first_of(" \t/'\"") != std::string::npos)
      throw UserError("--hosts {}: '{}' is not a host name; expected names such as a,b:4,c", list,
                      item);
    if (colon != std::string::npos) {
      const char* const last = item.data() + item.size();
      const auto [stop, error] = std::from_chars(item.data() + colon + 1, last, host.slots);
      if (error != std::errc() || stop != last || host.slots < 1 || host.slots > 4096)
        throw UserError(
            "--hosts {}: '{}' must end with the number of ranks on that host, 1 to 4096", list,
            item);
    }
    for (const Hosts::Host& other : hosts.all)
      if (other.name == host.name)
        throw UserError("--hosts {}: {} is listed twice; for several ranks on it write {}:2", list,
                        host.name, host.name);
    hosts.all.push_back(std::move(host));
    at = end + 1;
  }
  return hosts;
}

Hosts emulated_hosts(const std::string& name) {
  const EmulatedCluster cluster = find_emulated_cluster(name);
  Hosts hosts{.all = {}, .agent = cluster.agent(), .network = emulated_network, .emulated = true};
  for (const EmulatedHost& host : cluster.hosts) hosts.all.push_back({host.address, host.slots});
  return hosts;
}

Hosts hosts_of(const std::string& list, const std::string& cluster) {
  if (!list.empty() && !cluster.empty()) throw UserError("give --hosts or --cluster, not both");
  return cluster.empty() ? parse_hosts(list) : emulated_hosts(cluster);
}

std::vector<std::string> words_on_host(const Hosts& hosts, const std::string& host,
                                       const std::vector<std::string>& program) {
  std::string command = "exec";
  for (const std::string& word : program) command += " " + shell_word(word);
  if (!hosts.agent.empty()) return {hosts.agent.string(), host, command};
  return {"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=6", host, command};
}

void expect_reachable(const Hosts& hosts) {
  const auto deadline = Clock::now() + answer_limit;
  std::vector<Question> questions;
  for (const Hosts::Host& host : hosts.all) questions.push_back(ask(hosts, host.name));
  for (Question& question : questions) hear(question, deadline);
  std::vector<std::string> silent, others;
  for (const Question& q : questions) {
    if (!q.ended)
      silent.push_back(q.host + " (no answer within 8 s)");
    else if (q.status != 0)
      silent.push_back(fmt::format("{} ({})", q.host, last_line(q.answer)));
    else if (first_line(q.answer) != first_line(questions[0].answer))
      others.push_back(fmt::format("{} has {}", q.host, first_line(q.answer)));
  }
  if (!silent.empty())
    throw UserError(
        "cannot start {} on {}; every host must be reachable without a password and have the "
        "program at the same path",
        own_words().front(), join(silent, ", "));
  if (!others.empty())
    throw UserError(
        "hosts have different versions of the program: {} has {}, {}; install the same "
        "version on all",
        questions[0].host, first_line(questions[0].answer), join(others, ", "));
}

}  // namespace lockstep
