#include "os/affinity.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <tuple>

#include "base/error.h"

namespace lockstep {
namespace {

// Reads the kernel's files, because hwloc would double the program's start-up time.
int topology(int core, const char* what) {
  std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/{}", core, what));
  int value = 0;
  return file >> value ? value : 0;
}

std::string list_of(const std::vector<Core>& cores) {
  std::string text;
  for (const Core& core : cores) text += fmt::format("{}{}", text.empty() ? "" : ",", core.id);
  return text;
}

// Index of each hardware thread within its core, from 0.
std::vector<int> sibling_numbers(const std::vector<Core>& cores) {
  std::vector<int> numbers;
  for (size_t i = 0; i < cores.size(); ++i)
    numbers.push_back(static_cast<int>(std::count_if(
        cores.begin(), cores.begin() + static_cast<int64_t>(i),
        [&](const Core& c) { return c.package == cores[i].package && c.core == cores[i].core; })));
  return numbers;
}

std::vector<int> scattered(const std::vector<Core>& cores) {
  struct Place {
    int sibling, nth_of_package, package, id;
  };
  const std::vector<int> siblings = sibling_numbers(cores);
  std::vector<Place> places;
  for (size_t i = 0; i < cores.size(); ++i) {
    const auto nth = std::count_if(places.begin(), places.end(), [&](const Place& p) {
      return p.package == cores[i].package && p.sibling == siblings[i];
    });
    places.push_back({siblings[i], static_cast<int>(nth), cores[i].package, cores[i].id});
  }
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.sibling, a.nth_of_package, a.package) <
           std::tie(b.sibling, b.nth_of_package, b.package);
  });
  std::vector<int> order(places.size());
  std::transform(places.begin(), places.end(), order.begin(), [](const Place& p) { return p.id; });
  return order;
}

std::vector<int> listed(const std::string& list, const std::vector<Core>& cores) {
  std::vector<int> order;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string word = list.substr(at, end - at);
    if (word.empty() || word.size() > 6 ||
        word.find_first_not_of("0123456789") != std::string::npos)
      throw UserError(
          "parallel.affinity = \"{}\" is not understood; expected none, compact, scatter, or core "
          "numbers such as 0,1,2,4",
          list);
    const int id = std::stoi(word);
    if (std::none_of(cores.begin(), cores.end(), [id](const Core& c) { return c.id == id; })) {
      const bool exists =
          ::access(fmt::format("/sys/devices/system/cpu/cpu{}", id).c_str(), F_OK) == 0;
      throw UserError("parallel.affinity: core {} {}; these can be used: {}", id,
                      exists ? "exists, but this process may not use it" : "does not exist",
                      list_of(cores));
    }
    order.push_back(id);
    at = end + 1;
  }
  return order;
}

}  // namespace

std::vector<Core> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<Core> cores;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return {Core{}};
  for (int id = 0; id < CPU_SETSIZE; ++id)
    if (CPU_ISSET(id, &set))
      cores.push_back({id, topology(id, "physical_package_id"), topology(id, "core_id")});
  return cores;
}

CoreMask core_mask() {
  CoreMask mask{};
  for (const Core& core : allowed_cores())
    if (core.id < 1024) mask[static_cast<size_t>(core.id) / 64] |= uint64_t{1} << (core.id % 64);
  return mask;
}

AffinityKind affinity_kind(const std::string& affinity) {
  return from_text<AffinityKind>(affinity).value_or(AffinityKind::list);
}

std::vector<std::vector<int>> plan_affinity(const std::string& affinity, int ranks, int threads,
                                            const std::vector<Core>& cores) {
  std::vector<std::vector<int>> plan(static_cast<size_t>(ranks));
  std::vector<int> order;
  switch (affinity_kind(affinity)) {
    case AffinityKind::none:
      return plan;
    case AffinityKind::compact:
      for (const Core& core : cores) order.push_back(core.id);
      break;
    case AffinityKind::scatter:
      order = scattered(cores);
      break;
    case AffinityKind::list:
      order = listed(affinity, cores);
  }
  size_t next = 0;
  for (std::vector<int>& mine : plan)
    for (int t = 0; t < threads; ++t) {
      const int core = order[next++ % order.size()];
      if (std::find(mine.begin(), mine.end(), core) == mine.end()) mine.push_back(core);
    }
  return plan;
}

void bind_to(const std::vector<int>& cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  if (::sched_setaffinity(0, sizeof(set), &set) != 0)
    throw Failure("cannot bind to cores: {}", std::strerror(errno));
}

std::string affinity_map(const std::vector<std::vector<int>>& plan,
                         const std::vector<Core>& cores) {
  std::string text = "core    ";
  for (const Core& core : cores) text += fmt::format("{:>4}", core.id);
  for (size_t rank = 0; rank < plan.size(); ++rank) {
    text += fmt::format("\nrank {:<3}", rank);
    for (const Core& core : cores) {
      const bool bound =
          std::find(plan[rank].begin(), plan[rank].end(), core.id) != plan[rank].end();
      text += bound ? "   ■" : "   ·";
    }
  }
  return text + "\n";
}

}  // namespace lockstep
