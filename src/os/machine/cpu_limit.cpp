#include "os/machine/cpu_limit.h"

#include <fmt/format.h>

#include <fstream>

namespace lockstep {
namespace {

// Short, so that a limited process is stopped often and briefly.
constexpr int period_us = 10'000;

// Where groups are made: version 1 of the interface has a folder per resource.
const fs::path first_version = "/sys/fs/cgroup/cpu", second_version = "/sys/fs/cgroup";

bool write_value(const fs::path& file, const std::string& value) {
  std::ofstream out(file);
  out << value << std::flush;
  return out.good();
}

}  // namespace

fs::path limit_cpu(const std::string& group, double cores) {
  std::error_code error;
  const int quota = static_cast<int>(cores * period_us);
  if (fs::exists(first_version / "cpu.cfs_quota_us", error)) {
    const fs::path made = first_version / group;
    fs::create_directory(made, error);
    if (write_value(made / "cpu.cfs_period_us", std::to_string(period_us)) &&
        write_value(made / "cpu.cfs_quota_us", std::to_string(quota)))
      return made / "cgroup.procs";
  } else if (write_value(second_version / "cgroup.subtree_control", "+cpu")) {
    const fs::path made = second_version / group;
    fs::create_directory(made, error);
    if (write_value(made / "cpu.max", fmt::format("{} {}", quota, period_us)))
      return made / "cgroup.procs";
  }
  remove_cpu_limit(group);
  return {};
}

void remove_cpu_limit(const std::string& group) {
  std::error_code error;
  for (const fs::path& parent : {first_version, second_version}) fs::remove(parent / group, error);
}

}  // namespace lockstep
