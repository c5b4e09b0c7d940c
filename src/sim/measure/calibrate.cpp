#include "sim/measure/calibrate.h"

#include "base/error.h"
#include "comm/backend/mpi.h"
#include "comm/backend/threads.h"
#include "data/fetch/folders.h"
#include "job/launch.h"
#include "os/affinity.h"
#include "os/program.h"
#include "os/run_command.h"
#include "sim/measure/measure_messages.h"
#include "sim/measure/measure_network.h"
#include "sim/point/point_costs.h"

namespace lockstep {
namespace {

constexpr double measuring_seconds = 1.5;  // per network

// Adds measured tables. With `replace`, undisturbed ones replace all known tables.
void keep_tables(std::map<std::string, SizeTable>& known, Quietness& quietness,
                 const std::map<std::string, SizeTable>& other, const Quietness& other_quietness,
                 bool replace) {
  if (replace && !other.empty() && other_quietness.quiet()) known.clear();
  keep_better_tables(known, quietness, other, other_quietness);
}

void measure_tables(Profile& profile, int attempts, bool replace, const Say& say) {
  if (profile.cores < 2) {
    say("this machine has one core: messages between ranks cannot be measured, and take no time in "
        "predictions of several ranks per node");
    return;
  }
  const ThisMachine machine;
  DisturbanceWatch watch(machine, profile.arithmetic);
  Profile fresh;
  std::map<std::string, SizeTable> last;
  measure_undisturbed(
      watch, attempts,
      [&] {
        run_thread_ranks(2, 60, [&](Communicator& ranks) {
          auto tables = measure_messages(ranks);
          if (ranks.rank() == 0) last = std::move(tables);
        });
        return 0.0;
      },
      [&](const Quietness& quietness) {
        keep_better_tables(fresh.threads, fresh.threads_quietness, last, quietness);
      });
  make_folder(profile_path().parent_path());
  const ScratchFolder scratch(profile_path().parent_path());
  try {
    measure_undisturbed(
        watch, attempts,
        [&] {
          run_command({lockstep_program().string(), "calibrate", "--mpi-tables",
                       (scratch.path() / "mpi.json").string()},
                      scratch.path(), std::chrono::seconds(120));
          last = read_profile(scratch.path() / "mpi.json").mpi;
          return 0.0;
        },
        [&](const Quietness& quietness) {
          keep_better_tables(fresh.mpi, fresh.mpi_quietness, last, quietness);
        });
  } catch (const Failure& failure) {
    say(
        fmt::format("MPI ranks could not be measured; their messages take no time in predictions: "
                    "{}",
                    failure.what()));
  }
  keep_tables(profile.threads, profile.threads_quietness, fresh.threads, fresh.threads_quietness,
              replace);
  keep_tables(profile.mpi, profile.mpi_quietness, fresh.mpi, fresh.mpi_quietness, replace);
  profile.arithmetic = watch.fastest();
  ++profile.new_measurements;
}

// Saved profile of this machine, or an empty one if there is none or it cannot be used.
Profile kept_profile(const Say& say) {
  Profile fresh;
  fresh.machine = this_machine();
  fresh.cores = static_cast<int>(allowed_cores().size());
  fresh.version = LOCKSTEP_VERSION;
  if (!fs::exists(profile_path())) return fresh;
  try {
    const Profile kept = read_profile(profile_path());
    return kept.version == LOCKSTEP_VERSION ? kept : fresh;
  } catch (const UserError& error) {
    say(fmt::format("{}; measuring again", error.what()));
    return fresh;
  }
}

NetworkCosts measure_now(const SimulatedPoint& point, const DataSplits& data, Profile& profile,
                         double seconds, int attempts, const ObservedMachine& machine) {
  DisturbanceWatch watch(machine, profile.arithmetic);
  NetworkCosts best, last;
  measure_undisturbed(
      watch, attempts,
      [&] {
        last = measure_network(measured_config(point), data, shares_of(point, data).micro_batch,
                               profile.cores, seconds);
        last.measured = time_text();
        return last.spread();
      },
      [&](const Quietness& quietness) {
        last.quietness = quietness;
        if (best.by_ranks.empty())
          best = last;
        else
          best.keep_better(last);
      });
  profile.arithmetic = watch.fastest();
  ++profile.new_measurements;
  return best;
}

}  // namespace

void refine_tables(Profile& profile, const Say& say) { measure_tables(profile, 1, false, say); }

void measure_mpi_tables(const fs::path& path) {
  if (mpi_job_size() == 0) launch_ranks(2);
  run_mpi_rank(60, [&](Communicator& ranks) {
    Profile profile;
    profile.machine = this_machine();
    profile.version = LOCKSTEP_VERSION;
    profile.measured = time_text();
    profile.mpi = measure_messages(ranks);
    if (ranks.rank() == 0) write_profile(path, profile);
    ranks.barrier().wait();
  });
}

Profile machine_profile(Measuring measuring, const Say& say) {
  Profile profile = kept_profile(say);
  const bool is_old = is_stale(profile.measured, profile.version);
  const bool is_clean = profile.threads_quietness.quiet() && profile.mpi_quietness.quiet();
  if (measuring == Measuring::where_needed && !is_old &&
      (is_clean || !is_quiet_now(ThisMachine(), profile.arithmetic)))
    return profile;
  say("measuring messages between two threads and between two MPI ranks (a few seconds)");
  measure_tables(profile, 2, is_old || measuring == Measuring::again, say);
  profile.measured = time_text();
  write_profile(profile_path(), profile);
  return profile;
}

NetworkCosts costs_for(const SimulatedPoint& point, const DataSplits& data, Profile& profile,
                       Measuring measuring, int attempts, const ObservedMachine& machine) {
  if (has_too_few_cores(profile, point)) {
    if (profile.cores == 1)
      throw UserError(
          "{} threads per rank: {} has one core, so how a rank gains from threads cannot be "
          "measured; use --threads 1, or --profile of a machine with more cores",
          point.threads(), profile.machine);
    for (const int threads : {1, profile.cores})
      costs_for(with_threads(point, threads), data, profile, measuring, attempts, machine);
    return known_costs(point, data, profile);
  }
  const std::string key = key_of(point, data);
  const auto found = profile.networks.find(key);
  const bool known = found != profile.networks.end();
  if (measuring == Measuring::never) {
    if (known) return found->second;
    const int64_t rows = shares_of(point, data).micro_batch;
    throw UserError(
        "the profile of {} has no times for this network with {} rows and {} thread{}; make it "
        "there with 'lockstep calibrate {} --batch {} --threads {}'",
        profile.machine, rows, point.threads(), point.threads() == 1 ? "" : "s", point.config.name,
        rows, point.threads());
  }
  const bool is_old = known && is_stale(found->second.measured, profile.version);
  const bool is_clean = known && found->second.quietness.quiet();
  if (measuring == Measuring::where_needed && known && !is_old &&
      (is_clean || !is_quiet_now(machine, profile.arithmetic)))
    return found->second;
  keep_measured(profile, key,
                measure_now(point, data, profile, measuring_seconds, attempts, machine), measuring);
  return profile.networks.at(key);
}

void keep_measured(Profile& profile, const std::string& key, const NetworkCosts& measured,
                   Measuring measuring) {
  if (const auto found = profile.networks.find(key); found != profile.networks.end()) {
    const NetworkCosts& known = found->second;
    const bool forget = measuring == Measuring::again || is_stale(known.measured, profile.version);
    if (forget && (measured.quietness.quiet() || !known.quietness.quiet()))
      profile.networks.erase(found);
  }
  keep_better(profile.networks, key, measured);
}

void refine_costs(const SimulatedPoint& point, const DataSplits& data, Profile& profile,
                  double seconds) {
  if (has_too_few_cores(profile, point))
    throw UserError("{} threads per rank cannot be measured on {} cores; use at most {}",
                    point.threads(), profile.cores, profile.cores);
  keep_better(profile.networks, key_of(point, data),
              measure_now(point, data, profile, seconds, 1, ThisMachine()));
}

}  // namespace lockstep
