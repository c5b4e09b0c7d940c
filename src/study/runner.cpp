#include "study/runner.h"

#include <chrono>

#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/rng.h"
#include "cluster/emulated_cluster.h"
#include "cluster/named_cluster.h"
#include "os/run_command.h"
#include "study/placement.h"
#include "study/results/results.h"

namespace lockstep {
namespace {

const std::string out_option = "--out";

struct Job {
  const StudyPoint* point;
  int64_t repeat;  // below 0: warm-up run
};

// Hosts of this machine with the network of the study's cluster, for the runs of one point.
Cluster hosts_for(const Study& study, const StudyPoint& point) {
  Cluster cluster = named_cluster(study.simulate_on).cluster;
  NodeKind kind = cluster.node(0);
  kind.count = static_cast<int>(point.nodes());
  kind.cores = static_cast<int>(processes_per_node(study, point));
  cluster.kinds = {kind};
  cluster.name = fmt::format("study-{}x{}", kind.count, kind.cores);
  return cluster;
}

class UpWhileRunning {
 public:
  UpWhileRunning(const Study& study, const StudyPoint& point)
      : up_(bring_up(hosts_for(study, point), named_cluster(study.simulate_on).text, "",
                     Lifetime::of_caller)) {}
  ~UpWhileRunning() {
    try {
      take_down(up_);
    } catch (const std::exception&) {  // they end with this process
    }
  }
  UpWhileRunning(const UpWhileRunning&) = delete;
  UpWhileRunning& operator=(const UpWhileRunning&) = delete;

 private:
  EmulatedCluster up_;
};

std::vector<std::string> words_of(const Study& study, const Job& job, Place place,
                                  const fs::path& program, const fs::path& out) {
  const StudyPoint& point = *job.point;
  const bool simulated = place == Place::simulation;
  std::vector<std::string> words = {program.string(), simulated ? "simulate" : to_text(study.verb),
                                    point.config,     "--quiet",
                                    out_option,       out.string()};
  if (simulated) {
    words.insert(words.end(), {"--cluster", study.simulate_on});
    if (!point.value(std::string(nodes_key)).empty())
      words.insert(words.end(), {"--ranks", std::to_string(ranks_of(study, point)), "--nodes",
                                 std::to_string(point.nodes())});
    if (study.verb == StudyVerb::crossval)
      words.emplace_back("--crossval");
    else if (study.simulate_numbers)
      words.emplace_back("--numerics");
  }
  if (place == Place::emulated_hosts)
    words.insert(words.end(), {"--cluster", hosts_for(study, point).name, "--ranks",
                               std::to_string(ranks_of(study, point))});
  const auto set = [&](const std::string& change) {
    words.push_back("--set");
    words.push_back(change);
  };
  for (const std::string& change : study.changes) set(change);
  for (const auto& [key, value] : point.keys)
    if (key != config_key && key != nodes_key && key != series_key)
      set(fmt::format("{}={}", key, value));
  // Repeats differ in their seed, unless the study sets it.
  bool seeded = !point.value("seed").empty();
  for (const std::string& change : study.changes) seeded = seeded || change.starts_with("seed=");
  if (!seeded) set(fmt::format("seed={}", std::max<int64_t>(0, job.repeat) + 1));
  return words;
}

// The command line that identifies a run, without the program and the output folder.
std::string receipt(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 1; i < words.size(); ++i)
    if (words[i] != out_option && words[i - 1] != out_option) text += words[i] + "\n";
  return text;
}

bool is_done(const fs::path& run, const std::vector<std::string>& words) {
  return fs::exists(run / "summary.json") && fs::exists(run / "words.txt") &&
         read_text(run / "words.txt") == receipt(words);
}

std::vector<Job> jobs_of(const Study& study) {
  std::vector<Job> jobs;
  for (const StudyPoint& point : study.points)
    for (int64_t repeat = 0; repeat < study.repeats; ++repeat) jobs.push_back({&point, repeat});
  std::vector<int64_t> order(jobs.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  Rng rng(1, Purpose::shuffle, jobs.size());
  shuffle(order, rng);
  std::vector<Job> shuffled;
  for (const int64_t i : order) shuffled.push_back(jobs[static_cast<size_t>(i)]);
  return shuffled;
}

}  // namespace

bool run_study(const Study& study, const fs::path& folder, const fs::path& program,
               const ShowProgress& show, const std::atomic<bool>& stop) {
  constexpr auto limit = std::chrono::hours(24 * 7);
  const MachineAbilities machine = MachineAbilities::of_this_machine();
  const std::vector<Job> jobs = jobs_of(study);
  const WallClock clock;
  const double start = clock.seconds();
  StudyProgress progress{.all = static_cast<int64_t>(jobs.size())};
  int64_t run_now = 0;
  make_folder(folder / "points");
  const auto run = [&](const Job& job, const fs::path& out) {
    // The receipt covers these words; options that do not change the run belong in `command` only.
    const Place place = place_of(study, *job.point, machine);
    const std::vector<std::string> words = words_of(study, job, place, program, out);
    std::vector<std::string> command = words;
    command.emplace_back("--force");  // replaces an unfinished run of an earlier start
    make_folder(out);
    std::error_code ignored;
    for (const char* old : {"summary.json", "failed.txt", "words.txt"})
      fs::remove(out / old, ignored);
    try {
      std::optional<UpWhileRunning> hosts;
      if (place == Place::emulated_hosts) hosts.emplace(study, *job.point);
      run_command(command, fs::current_path(), limit, out / "log.txt", &stop);
      if (stop.load()) return;  // the run was stopped early
      write_file(out / "words.txt", receipt(words));
    } catch (const std::exception& error) {
      if (stop.load()) return;
      ++progress.failed;
      write_file(out / "failed.txt", std::string(error.what()));
    }
  };
  for (int64_t i = 0; i < study.warmup && !stop.load(); ++i)
    run({jobs[static_cast<size_t>(i) % jobs.size()].point, -1}, folder / "warm-up");
  for (const Job& job : jobs) {
    if (stop.load()) return false;
    const fs::path out = run_folder(folder, *job.point, job.repeat);
    progress.point = job.point->label;
    progress.seconds = clock.seconds() - start;
    if (run_now > 0)
      progress.left = progress.seconds / static_cast<double>(run_now) *
                      static_cast<double>(progress.all - progress.done);
    show(progress);
    const Place place = place_of(study, *job.point, machine);
    if (!is_done(out, words_of(study, job, place, program, out))) {
      run(job, out);
      ++run_now;
    }
    ++progress.done;
  }
  progress.left = 0;
  progress.point = "";
  progress.seconds = clock.seconds() - start;
  show(progress);
  return !stop.load();
}

}  // namespace lockstep
