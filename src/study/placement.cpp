#include "study/placement.h"

#include <algorithm>
#include <charconv>
#include <thread>

#include "cluster/emulated_cluster.h"

namespace lockstep {
namespace {

// The value that the runs of a point get, or "" if neither point nor study sets it.
std::string setting(const Study& study, const StudyPoint& point, const std::string& key) {
  if (const std::string own = point.value(key); !own.empty()) return own;
  std::string last;
  for (const std::string& change : study.changes)
    if (change.starts_with(key + "=")) last = change.substr(key.size() + 1);
  return last;
}

int64_t number_in(const std::string& text, int64_t otherwise) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  return std::from_chars(text.data(), end, value).ptr == end && value > 0 ? value : otherwise;
}

// One more than the highest core of a list such as "0,1,2,4"; 0 for other texts.
int64_t cores_in_list(const std::string& affinity) {
  int64_t most = 0;
  for (size_t at = 0; at < affinity.size();) {
    const size_t end = std::min(affinity.find(',', at), affinity.size());
    most = std::max(most, 1 + number_in(affinity.substr(at, end - at), 0));
    at = end + 1;
  }
  return affinity.find_first_not_of("0123456789,") == std::string::npos ? most : 0;
}

}  // namespace

MachineAbilities MachineAbilities::of_this_machine() {
  return {.cores = std::max<int64_t>(1, std::thread::hardware_concurrency()),
          .emulates_hosts = why_no_emulation().empty()};
}

int64_t ranks_of(const Study& study, const StudyPoint& point) {
  return number_in(setting(study, point, "parallel.ranks"), 1);
}

int64_t processes_per_node(const Study& study, const StudyPoint& point) {
  return (ranks_of(study, point) + point.nodes() - 1) / point.nodes();
}

int64_t cores_of(const Study& study, const StudyPoint& point) {
  const int64_t threads = number_in(setting(study, point, "device.threads"), 1);
  return std::max(ranks_of(study, point) * threads,
                  cores_in_list(setting(study, point, "parallel.affinity")));
}

Place place_of(const Study& study, const StudyPoint& point, const MachineAbilities& machine) {
  if (study.simulate_on.empty()) return Place::this_machine;
  if (study.simulate == Simulated::beyond) {
    if (number_in(point.value(study.scale), 1) > study.simulate_beyond) return Place::simulation;
  } else if (cores_of(study, point) > machine.cores) {
    return Place::simulation;
  }
  if (point.nodes() == 1) return Place::this_machine;
  return machine.emulates_hosts ? Place::emulated_hosts : Place::simulation;
}

}  // namespace lockstep
