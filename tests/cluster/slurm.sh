#!/usr/bin/env bash
# A real Slurm on this machine with two emulated nodes: runs the script printed by `lockstep sbatch` on both nodes,
# sends its warning signal, lets it requeue and finish, and compares it with an uninterrupted run.
#   slurm.sh <lockstep>        needs root; exit code 77: skipped, with the reason
set -euo pipefail
lockstep=$(realpath "$1")
[ "$(id -u)" = 0 ] || { echo "skipped: the node daemons need root"; exit 77; }
for tool in slurmctld slurmd sbatch munged; do
  command -v $tool >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done

folder=$(mktemp -d)
chmod 755 "$folder"
cleanup() {
  [ -n "${KEEP:-}" ] && { echo "kept: $folder"; return; }
  scancel --full --signal=KILL "${job:-0}" 2>/dev/null || true
  for daemon in slurmd slurmctld munged; do pkill -f "$daemon.*$folder" 2>/dev/null || true; done
  pkill -9 -f "$folder/bin/lockstep" 2>/dev/null || true
  sleep 1
  rm -rf "$folder"
}
trap cleanup EXIT
host=$(hostname -s)
mkdir -p "$folder/state" "$folder/bin"
ln -s "$lockstep" "$folder/bin/lockstep"

head -c 1024 /dev/urandom >"$folder/munge.key"
chmod 400 "$folder/munge.key"
chown -R root "$folder"
munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munge.pid" \
  --log-file="$folder/munge.log" --seed-file="$folder/munge.seed"

cat >"$folder/slurm.conf" <<CONF
ClusterName=lockstep
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket,cred_expire=10
CryptoType=crypto/munge
SlurmctldPort=28817
StateSaveLocation=$folder/state
SlurmctldPidFile=$folder/slurmctld.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmdSpoolDir=$folder/spool-%n
SlurmdLogFile=$folder/slurmd-%n.log
TmpFS=$folder/tmp-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=5
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
KillWait=5
JobRequeue=1
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=node1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=28818 CPUs=2 State=UNKNOWN
NodeName=node2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=28819 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP
CONF
mkdir -p "$folder"/{tmp,spool}-node{1,2}
export SLURM_CONF=$folder/slurm.conf PATH=$folder/bin:$PATH
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
slurmctld -c -f "$SLURM_CONF"
for node in node1 node2; do slurmd -f "$SLURM_CONF" -N $node; done
for _ in $(seq 100); do
  [ "$(sinfo -h -N -o %T 2>/dev/null | grep -c idle)" = 2 ] && break
  sleep 0.2
done
[ "$(sinfo -h -N -o %T | grep -c idle)" = 2 ] || { echo "FAILED: the nodes did not come up"; sinfo; cat "$folder"/*.log; exit 1; }

cd "$folder"
cat >net.toml <<'TOML'
name = "net"
[model]
layers = ["conv 8 3x3 relu", "maxpool 2", "dense 64 relu", "dense 10"]
[data]
name = "mnist-sample"
[train]
epochs = 400
batch = 32
TOML
wait_for() {  # wait_for <seconds> <command...>
  local left=$(($1 * 5))
  shift
  until "$@" >/dev/null 2>&1; do
    left=$((left - 1))
    [ $left -gt 0 ] || { echo "FAILED: $* did not come true"; squeue; cat net-*.log slurmctld.log | tail -30; exit 1; }
    sleep 0.2
  done
}

lockstep sbatch net.toml --nodes 2 --ranks-per-node 1 --time 00:10:00 >job.sh
job=$(sbatch --parsable job.sh)
summary=runs/net-$job/summary.json
wait_for 60 test -s "runs/net-$job/metrics.jsonl"
sleep 2
scancel --batch --signal=USR1 "$job"  # what Slurm does before the time limit
wait_for 30 grep -q interrupted "$summary"
steps=$(sed -n 's/.*"global_step": \([0-9]*\).*/\1/p' "runs/net-$job/checkpoints/latest.json")
echo "warned: checkpoint after step $steps, on $(grep -o '"hosts": [0-9]*' "$summary"), $(grep -o '"ranks": [0-9]*' "$summary")"
[ -n "$steps" ] && [ "$steps" -gt 0 ]
grep -q '"ranks": 2' "$summary"

# The job is requeued (Slurm delays it by two minutes), resumes, and ends like an uninterrupted run.
wait_for 300 grep -q finished "$summary"
scontrol show job "$job" | grep -q Restarts=1
echo "requeued and finished: $(scontrol show job "$job" | grep -o 'Restarts=[0-9]*')"
mpirun --oversubscribe --bind-to none -n 2 lockstep train net.toml --quiet --out whole >/dev/null
cmp whole/model/model.safetensors "runs/net-$job/model/model.safetensors"
echo "the same weights, bit by bit, as an uninterrupted run"
