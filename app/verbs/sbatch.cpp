#include <fmt/format.h>

#include <cctype>

#include "config/presets.h"
#include "job/launch.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

struct Options {
  std::string config;
  std::vector<std::string> changes;
  int nodes = 1, ranks_per_node = 1, threads = 1;
  std::string time = "01:00:00", partition, launcher = "srun --mpi=pmix";
  int warning = 60;
};

// Usable as the name of a job or file.
std::string safe(std::string name) {
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') c = '-';
  return name;
}

// Slurm signals the batch shell before the time limit. The shell signals the ranks, which write a
// checkpoint and exit; then it requeues the job, which resumes from the checkpoint.
constexpr const char* script = R"(#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --nodes={nodes}
#SBATCH --ntasks-per-node={ranks}
#SBATCH --cpus-per-task={threads}
#SBATCH --time={time}
#SBATCH --signal=B:USR1@{warning}
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output={name}-%j.log
{partition}
run=runs/{name}-$SLURM_JOB_ID
if compgen -G "$run/checkpoints/step-*/digests.txt" > /dev/null; then
  words=(--resume "$run")
else   # an earlier start of this job without a checkpoint is replaced
  words=({config} {changes}--out "$run" --force)
fi

warned=
warn() {{
  warned=yes
  scancel --signal=USR1 "$SLURM_JOB_ID"   # signals the ranks, not this shell
}}
trap warn USR1

{launcher} lockstep train "${{words[@]}}" --threads {threads} --quiet &
ranks=$!
wait $ranks
code=$?
while kill -0 $ranks 2>/dev/null; do   # a signal ends 'wait', but not the ranks
  wait $ranks
  code=$?
done

if [ -n "$warned" ] && [ $code = 0 ] && grep -q '"ending": "interrupted"' "$run/summary.json"; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit $code
)";

void sbatch(const Options& options) {
  const RunConfig config = find_config(options.config, options.changes);
  if (options.nodes * options.ranks_per_node == 1)
    fmt::print(stderr, "lockstep: one node and one rank: the job is not parallel\n");
  std::string changes;
  for (const std::string& change : options.changes) changes += "--set " + shell_word(change) + " ";
  fmt::print(
      fmt::runtime(script), fmt::arg("name", safe(config.name)), fmt::arg("nodes", options.nodes),
      fmt::arg("ranks", options.ranks_per_node), fmt::arg("threads", options.threads),
      fmt::arg("time", options.time), fmt::arg("warning", options.warning),
      fmt::arg("partition", options.partition.empty()
                                ? ""
                                : fmt::format("#SBATCH --partition={}\n", options.partition)),
      fmt::arg("config", shell_word(options.config)), fmt::arg("changes", changes),
      fmt::arg("launcher", options.launcher));
}

}  // namespace

void add_sbatch_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      app.add_subcommand("sbatch", R"(Print a Slurm script that trains on several nodes.

Examples:
  lockstep sbatch cnn-690k --nodes 2 --ranks-per-node 4 > job.sh && sbatch job.sh
  lockstep sbatch my.toml --nodes 4 --ranks-per-node 8 --time 12:00:00 --partition long
)");
  verb->add_option("config", options->config, "a preset or a TOML file")->required();
  verb->add_option("--set", options->changes, "change a key of the configuration: key=value")
      ->type_name("KEY=VALUE");
  verb->add_option("--nodes", options->nodes, "number of nodes")->check(CLI::Range(1, 100000));
  verb->add_option("--ranks-per-node", options->ranks_per_node, "ranks on each node")
      ->check(CLI::Range(1, 4096));
  verb->add_option("--threads", options->threads, "threads per rank")->check(CLI::Range(1, 1024));
  verb->add_option("--time", options->time, "time limit in Slurm's format, e.g. 02:30:00");
  verb->add_option("--partition", options->partition, "Slurm partition");
  verb->add_option("--launcher", options->launcher, "command that starts the ranks");
  verb->add_option("--warning", options->warning,
                   "seconds before the time limit to write a checkpoint and requeue")
      ->check(CLI::Range(5, 86400));
  verb->callback([options] { sbatch(*options); });
}

}  // namespace lockstep
