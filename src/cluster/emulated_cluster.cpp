#include "cluster/emulated_cluster.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/names.h"
#include "base/nearest.h"
#include "cluster/network_plan.h"
#include "os/folder_lock.h"
#include "os/machine/cpu_limit.h"
#include "os/run_command.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr auto command_limit = std::chrono::seconds(20);

// Clusters are removed by a restart of the machine, as this folder is.
fs::path folder_of_clusters() { return "/run/lockstep/clusters"; }

std::string group_of(const std::string& host) { return "lockstep-" + host; }

// Path of a system tool, which need not be on PATH; empty: not installed.
std::string path_of(const std::string& tool) {
  for (const char* folder : {"/usr/sbin", "/usr/bin", "/sbin", "/bin"})
    if (const fs::path path = fs::path(folder) / tool; ::access(path.c_str(), X_OK) == 0)
      return path.string();
  return "";
}

std::string why_unequipped() {
  if (::geteuid() != 0)
    return "making hosts (network namespaces) needs root; 'lockstep simulate' needs no root";
  for (const auto& [tool, package] :
       {std::pair("ip", "iproute2"), {"tc", "iproute2"}, {"nsenter", "util-linux"}})
    if (path_of(tool).empty())
      return fmt::format("the tool '{}' is missing; try 'apt install {}'", tool, package);
  return "";
}

void expect_possible(const Cluster& cluster) {
  const std::string what = fmt::format("cannot emulate cluster '{}': ", cluster.name);
  if (cluster.topology != Topology::star && cluster.topology != Topology::tree)
    throw UserError("{}its topology is \"{}\"; \"star\" and \"tree\" (two levels) can be emulated",
                    what, to_text(cluster.topology));
  if (cluster.nodes() < 2 || cluster.nodes() > most_emulated_hosts)
    throw UserError("{}it has {} nodes; 2 to {} can be emulated", what, cluster.nodes(),
                    most_emulated_hosts);
  if (const std::string why = why_unequipped(); !why.empty()) throw UserError("{}{}", what, why);
}

// What the hosts have, and what of the description cannot be emulated.
std::string description(const Cluster& cluster, bool limits_speed) {
  const auto mbit = [](double bytes) { return fmt::format("{:.4g} Mbit/s", bytes * 8 / 1e6); };
  double slowest = cluster.link.bandwidth, fastest = slowest;
  bool slower = false;
  for (int node = 0; node < cluster.nodes(); ++node) {
    for (const double rate : {cluster.upload_of(node), cluster.download_of(node)}) {
      slowest = std::min(slowest, rate);
      fastest = std::max(fastest, rate);
    }
    slower = slower || cluster.speed_of(node) < 1;
  }
  std::string text = fmt::format(
      "{} hosts, links of {}{}", cluster.nodes(), mbit(slowest),
      fastest > slowest ? fmt::format(" to {}", mbit(fastest)) : std::string(" of payload"));
  if (cluster.topology == Topology::tree)
    text +=
        fmt::format(", {} per switch, uplinks of {}", cluster.leaf, mbit(cluster.uplink.bandwidth));
  if (slower && !limits_speed)
    text += "; slower processors are not emulated, because there is no cpu control group";
  return text + "; latencies are this machine's";
}

// A host is a process that holds its namespaces and ends with its keeper.
int start_host(const std::string& name, const std::string& congestion) {
  int ready[2];
  if (::pipe2(ready, O_CLOEXEC) != 0) throw Failure("cannot make a pipe: {}", std::strerror(errno));
  const pid_t keeper = ::getpid(), host = ::fork();
  if (host < 0) throw Failure("cannot start a process for a host: {}", std::strerror(errno));
  if (host == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int report = ::dup2(ready[1], 3);
    ::close_range(4, ~0U, 0);
    int error = ::getppid() != keeper ? ESRCH : 0;
    if (!error && (::unshare(CLONE_NEWNET | CLONE_NEWUTS) != 0 ||
                   ::sethostname(name.data(), name.size()) != 0))
      error = errno;
    if (!error && !congestion.empty()) {
      std::ofstream setting("/proc/sys/net/ipv4/tcp_congestion_control");
      if (!(setting << congestion << std::flush)) error = EINVAL;
    }
    if (::write(report, &error, sizeof(error)) != sizeof(error)) ::_exit(1);
    ::close(report);
    for (;;) ::pause();
  }
  ::close(ready[1]);
  int error = EIO;
  const bool told = ::read(ready[0], &error, sizeof(error)) == sizeof(error);
  ::close(ready[0]);
  if (told && error == EINVAL)
    throw UserError("TCP congestion control '{}' is not available for hosts here; {}", congestion,
                    "see 'sysctl net.ipv4.tcp_allowed_congestion_control'");
  if (!told || error != 0)
    throw UserError("cannot make a network namespace: {}; is this a container without privileges?",
                    std::strerror(error));
  return host;
}

// Runs ip or tc on a file of commands, in the network namespace of a process.
void run_batch(const char* tool, const std::string& commands, int process, const fs::path& folder) {
  const fs::path file = folder / "commands", log = folder / "log";
  write_file(file, commands);
  try {
    run_command({path_of("nsenter"), "-t", std::to_string(process), "-n", path_of(tool), "-batch",
                 file.string()},
                folder, command_limit, log);
  } catch (const Failure& failure) {
    throw UserError("this system cannot make the links of an emulated cluster: {}\n{}",
                    failure.what(), fs::exists(log) ? read_text(log) : "");
  }
}

void make_links(const NetworkPlan& plan, const EmulatedCluster& cluster) {
  const auto make = [&](const LinkCommands& commands, int process) {
    run_batch("ip", commands.ip, process, cluster.folder);
    if (!commands.tc.empty()) run_batch("tc", commands.tc, process, cluster.folder);
  };
  make(plan.switches, ::getpid());
  for (size_t i = 0; i < plan.hosts.size(); ++i) make(plan.hosts[i], cluster.hosts[i].process);
}

// Open MPI starts its processes on a host with this program. Each host has its own folder for Open
// MPI's files, in the one of the job.
void write_agent(const EmulatedCluster& cluster, const std::vector<fs::path>& limits) {
  std::string cases;
  for (size_t i = 0; i < cluster.hosts.size(); ++i) {
    const EmulatedHost& h = cluster.hosts[i];
    cases += fmt::format("  {}|{}) process={} limit={} ;;\n", h.name, h.address, h.process,
                         limits[i].empty() ? "/dev/null" : limits[i].string());
  }
  write_file(cluster.agent(), fmt::format(R"(#!/bin/sh
# Runs a command on a host of the emulated cluster {}, as ssh would: agent HOST COMMAND...
host=$1
case $host in
{}  *) echo "there is no host $host in cluster {}" >&2; exit 255 ;;
esac
shift
echo $$ > $limit
if [ -n "$LOCKSTEP_JOB_FOLDER" ]; then
  mkdir -p "$LOCKSTEP_JOB_FOLDER/$host"
  export OMPI_MCA_orte_tmpdir_base="$LOCKSTEP_JOB_FOLDER/$host"
fi
export PMIX_MCA_gds=hash
exec {} -t $process -n -u /bin/sh -c "$*"
)",
                                          cluster.name, cases, cluster.name, path_of("nsenter")));
  fs::permissions(cluster.agent(), fs::perms::owner_all);
}

void write_state(const EmulatedCluster& cluster) {
  Json hosts = Json::array();
  for (const EmulatedHost& h : cluster.hosts)
    hosts.push_back(
        {{"name", h.name}, {"address", h.address}, {"slots", h.slots}, {"process", h.process}});
  write_file(cluster.folder / "state.json",
             Json{{"about", cluster.about}, {"keeper", cluster.keeper}, {"hosts", hosts}}.dump(2));
}

EmulatedCluster read_state(const fs::path& folder) {
  const Json state = Json::parse(read_text(folder / "state.json"));
  EmulatedCluster cluster{.name = folder.filename().string(),
                          .about = state.at("about"),
                          .folder = folder,
                          .keeper = state.at("keeper"),
                          .hosts = {}};
  for (const Json& h : state.at("hosts"))
    cluster.hosts.push_back({h.at("name"), h.at("address"), h.at("slots"), h.at("process")});
  return cluster;
}

// In the keeper, whose own network namespace holds the switches.
void make_cluster(const Cluster& description_of, const std::string& congestion,
                  const fs::path& folder) {
  if (::unshare(CLONE_NEWNET) != 0)
    throw UserError("cannot make a network namespace: {}; is this a container without privileges?",
                    std::strerror(errno));
  EmulatedCluster cluster{.name = description_of.name,
                          .about = {},
                          .folder = folder,
                          .keeper = ::getpid(),
                          .hosts = {}};
  std::vector<int> processes;
  std::vector<fs::path> limits;
  bool limits_speed = true;
  for (int node = 0; node < description_of.nodes(); ++node) {
    const std::string name = fmt::format("{}-h{}", cluster.name, node);
    const int cores = description_of.node(node).cores;
    processes.push_back(start_host(name, congestion));
    limits.emplace_back();
    if (const double speed = description_of.speed_of(node); speed < 1) {
      limits.back() = limit_cpu(group_of(name), speed * cores);
      limits_speed = limits_speed && !limits.back().empty();
    }
    cluster.hosts.push_back({name, address_of_host(node), cores, processes.back()});
  }
  cluster.about = description(description_of, limits_speed);
  make_links(plan_network(description_of, processes), cluster);
  write_agent(cluster, limits);
  write_state(cluster);
}

// Never returns. Tells whoever started it how it went: an empty text, or an error.
[[noreturn]] void keep(const Cluster& cluster, const std::string& congestion,
                       const fs::path& folder, int report, Lifetime lifetime, pid_t caller) {
  std::string error;
  try {
    if (lifetime == Lifetime::of_caller) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != caller) ::_exit(1);  // it has ended in the meantime
    }
    ::setsid();
    for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      ::dup2(::open("/dev/null", O_RDWR | O_CLOEXEC), file);
    for (const int signal : {SIGHUP, SIGINT}) ::signal(signal, SIG_IGN);
    ::signal(SIGTERM, SIG_DFL);  // programs may handle it
    make_cluster(cluster, congestion, folder);
  } catch (const std::exception& thrown) {
    error = thrown.what();
  }
  const bool told = ::write(report, error.data(), error.size()) >= 0;
  ::close(report);
  if (!error.empty() || !told) ::_exit(1);
  for (;;) ::pause();  // until SIGTERM
}

// Processes in the network namespaces of the hosts.
void end_programs_on(const EmulatedCluster& cluster) {
  const auto network_of = [](const std::string& process) {
    std::error_code gone;
    return fs::read_symlink(fs::path("/proc") / process / "ns/net", gone).string();
  };
  std::vector<std::string> networks;
  for (const EmulatedHost& host : cluster.hosts)
    networks.push_back(network_of(std::to_string(host.process)));
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const int process = std::atoi(entry.path().filename().c_str());
    const std::string network = process > 0 ? network_of(std::to_string(process)) : "";
    if (!network.empty() && std::ranges::find(networks, network) != networks.end())
      ::kill(process, SIGKILL);
  }
}

void forget(const fs::path& folder) {
  std::error_code error;  // not ours, or another process does the same
  const std::string name = folder.filename().string();
  for (int node = 0; node < most_emulated_hosts; ++node)
    remove_cpu_limit(group_of(fmt::format("{}-h{}", name, node)));
  fs::remove_all(folder, error);
}

}  // namespace

std::string why_no_emulation() {
  if (std::string why = why_unequipped(); !why.empty()) return why;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::unshare(CLONE_NEWNET | CLONE_NEWUTS) == 0 ? 0 : 1);
  int status = 1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && status == 0 ? ""
                                  : "it cannot make network namespaces; is this a container "
                                    "without privileges?";
}

EmulatedCluster bring_up(const Cluster& cluster, const std::string& text,
                         const std::string& congestion, Lifetime lifetime) {
  expect_possible(cluster);
  expect_name(cluster.name, "name of the cluster");
  if (cluster.name.size() > 50 ||
      cluster.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos)
    throw UserError(
        "the name of an emulated cluster becomes part of host names: use at most 50 of a to z, 0 "
        "to 9 and '-', not '{}'",
        cluster.name);
  for (const EmulatedCluster& other : emulated_clusters())
    if (other.name == cluster.name)
      throw UserError("cluster '{}' is already up; 'lockstep cluster down {}' removes it",
                      cluster.name, cluster.name);
  const fs::path folder = folder_of_clusters() / cluster.name;
  make_folder(folder);
  const FolderLock lock(folder);  // the keeper inherits it
  write_file(folder / "cluster.toml", text);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0)
    throw Failure("cannot make a pipe: {}", std::strerror(errno));
  const pid_t caller = ::getpid(), keeper = ::fork();
  if (keeper < 0) throw Failure("cannot start a process: {}", std::strerror(errno));
  if (keeper == 0) {
    ::close(report[0]);
    keep(cluster, congestion, folder, report[1], lifetime, caller);
  }
  ::close(report[1]);
  std::string error;
  std::array<char, 4096> chunk;
  for (ssize_t count = 1; count != 0;) {
    count = ::read(report[0], chunk.data(), chunk.size());
    if (count < 0 && errno != EINTR) break;
    if (count > 0) error.append(chunk.data(), static_cast<size_t>(count));
  }
  ::close(report[0]);
  if (!error.empty() || !fs::exists(folder / "state.json")) {
    ::kill(keeper, SIGKILL);
    forget(folder);
    throw UserError("cannot emulate cluster '{}': {}", cluster.name,
                    error.empty() ? "its keeper ended" : error);
  }
  return read_state(folder);
}

void take_down(const EmulatedCluster& cluster) {
  if (::geteuid() != 0)
    throw UserError("removing the hosts of cluster '{}' needs root", cluster.name);
  end_programs_on(cluster);
  ::kill(cluster.keeper, SIGTERM);
  for (int i = 0; i < 500 && FolderLock::is_held(cluster.folder); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (FolderLock::is_held(cluster.folder))
    throw Failure("the processes of cluster '{}' (keeper {}) did not end", cluster.name,
                  cluster.keeper);
  forget(cluster.folder);
}

std::vector<EmulatedCluster> emulated_clusters() {
  std::vector<EmulatedCluster> all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_of_clusters(), error)) {
    if (!FolderLock::is_held(entry.path()))
      forget(entry.path());
    else if (fs::exists(entry.path() / "state.json"))
      all.push_back(read_state(entry.path()));
  }
  std::ranges::sort(all, {}, &EmulatedCluster::name);
  return all;
}

EmulatedCluster find_emulated_cluster(const std::string& name) {
  std::vector<std::string> names;
  for (const EmulatedCluster& cluster : emulated_clusters()) {
    if (cluster.name == name) return cluster;
    names.push_back(cluster.name);
  }
  throw UserError(
      "no emulated cluster '{}' is up; {}", name,
      names.empty() ? "'lockstep cluster up FILE' makes one (as root)" : suggestion(name, names));
}

}  // namespace lockstep
