#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/clock.h"
#include "os/affinity.h"
#include "tensor/device.h"
#include "tensor/peak.h"
#include "text.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

struct Finding {
  std::string name, value;
};

struct Report {
  std::vector<Finding> found;
  std::vector<std::string> hurts;  // problems, with advice

  void add(const std::string& name, const std::string& value) { found.push_back({name, value}); }
  void warn(const std::string& text) { hurts.push_back(text); }
};

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string output_of(const std::string& command) {
  std::FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  if (!pipe) return "";
  std::array<char, 256> line{};
  std::string text = std::fgets(line.data(), line.size(), pipe) ? line.data() : "";
  ::pclose(pipe);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name") || line.starts_with("Model"))
      return line.substr(line.find(':') + 2);
  return "unknown";
}

void look_at_cores(Report& r) {
  const std::vector<Core> cores = allowed_cores();
  std::set<std::pair<int, int>> physical;
  std::set<int> packages;
  for (const Core& core : cores) {
    physical.insert({core.package, core.core});
    packages.insert(core.package);
  }
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  r.add("processor", processor_name());
  r.add("cores",
        fmt::format("{} usable ({} physical, {} package{}), {} online", cores.size(),
                    physical.size(), packages.size(), packages.size() == 1 ? "" : "s", online));
  if (static_cast<long>(cores.size()) < online)
    r.warn(
        fmt::format("only {} of {} cores are usable: taskset, a batch system or a container limits "
                    "them",
                    cores.size(), online));
  if (physical.size() < cores.size())
    r.warn(
        "hardware threads share cores: use at most one rank or thread per physical core "
        "(--affinity scatter)");
  double quota = 0, period = 0;
  std::ifstream limit("/sys/fs/cgroup/cpu.max");
  if (limit >> quota >> period && quota / period < static_cast<double>(cores.size()))
    r.warn(
        fmt::format("the container is limited to the time of {:.1f} cores (cpu.max): more threads "
                    "than that are throttled",
                    quota / period));
  const std::string governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (!governor.empty()) r.add("frequency governor", governor);
  if (governor == "powersave")
    r.warn(
        "the frequency governor is 'powersave': times will vary; try 'cpupower frequency-set -g "
        "performance'");
  double load = 0;
  std::ifstream("/proc/loadavg") >> load;
  r.add("load", fmt::format("{:.2f}", load));
  if (load > 0.5)
    r.warn(fmt::format("{:.1f} other processes are running on average: measurements will be noisy",
                       load));
}

void look_at_memory(Report& r) {
  static const std::map<std::string, const char*> rows = {{"MemTotal:", "memory"},
                                                          {"MemAvailable:", "memory free"}};
  std::ifstream file("/proc/meminfo");
  std::string key, rest;
  for (double kilobytes = 0; file >> key >> kilobytes && std::getline(file, rest);)
    if (const auto row = rows.find(key); row != rows.end())
      r.add(row->second, fmt::format("{:.1f} GB", kilobytes / 1e6));
  struct statvfs shared {};
  if (::statvfs("/dev/shm", &shared) == 0) {
    const double bytes = double(shared.f_bavail) * double(shared.f_frsize);
    r.add("/dev/shm free", fmt::format("{:.1f} GB", bytes / 1e9));
    if (bytes < 256e6)
      r.warn("/dev/shm is small: MPI ranks of one machine need it (docker run --shm-size)");
  }
}

void look_at_limits(Report& r) {
  struct rlimit files {};
  ::getrlimit(RLIMIT_NOFILE, &files);
  r.add("open files",
        files.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(files.rlim_cur));
  if (files.rlim_cur < 1024)
    r.warn("fewer than 1024 files may be open: large jobs need more (ulimit -n)");
}

void look_at_mpi(Report& r) {
  const std::string version = output_of("mpiexec --version");
  r.add("mpiexec", version.empty() ? "not found" : version);
  if (version.empty())
    r.warn(
        "mpiexec is not installed: several ranks run as threads only (--backend threads); 'apt "
        "install openmpi-bin'");
  const std::string scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
  if (!version.empty() && !scope.empty() && scope != "0")
    r.warn(
        "kernel.yama.ptrace_scope is not 0: Open MPI copies messages between ranks of one "
        "machine twice");
  const std::string slurm = output_of("sinfo --version");
  if (!slurm.empty()) r.add("Slurm", slurm);
}

void look_at_speed(Report& r) {
  const WallClock clock;
  const int cores = static_cast<int>(allowed_cores().size());
  const double one = sgemm_peak(1, clock);
  r.add("instructions", make_device({})->description());
  r.add("sgemm peak, one core", fmt::format("{:.1f} GFLOP/s", one / 1e9));
  if (cores == 1) return;
  const double all = sgemm_peak(cores, clock);
  r.add(fmt::format("sgemm peak, {} cores", cores),
        fmt::format("{:.1f} GFLOP/s ({:.0f}% of {} times one)", all / 1e9, all / one / cores * 100,
                    cores));
  if (all < 0.8 * one * cores)
    r.warn(
        fmt::format("{} cores together reach {:.0f}% of {} times one core: they share power, "
                    "caches, or a host with other virtual machines",
                    cores, all / one / cores * 100, cores));
}

void doctor(bool as_json) {
  Report r;
  look_at_cores(r);
  look_at_memory(r);
  look_at_limits(r);
  look_at_mpi(r);
  look_at_speed(r);
  if (as_json) {
    nlohmann::ordered_json json;
    for (const Finding& f : r.found) json[f.name] = f.value;
    json["hurts"] = r.hurts;
    fmt::print("{}\n", json.dump(2));
    return;
  }
  std::vector<std::vector<std::string>> rows = {{"what", "found"}};
  for (const Finding& f : r.found) rows.push_back({f.name, f.value});
  fmt::print("{}", table(rows));
  if (r.hurts.empty())
    fmt::print("\nno problems\n");
  else
    fmt::print("\nproblems:\n");
  for (const std::string& text : r.hurts) fmt::print("- {}\n", text);
}

}  // namespace

void add_doctor_verb(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* verb =
      app.add_subcommand("doctor", R"(Check this machine: hardware, MPI, limits, and problems.

Examples:
  lockstep doctor
  lockstep doctor --json
)");
  verb->add_flag("--json", *json, "print JSON instead of a table");
  verb->callback([json] { doctor(*json); });
}

}  // namespace lockstep
