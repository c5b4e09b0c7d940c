#!/usr/bin/env bash
# Two hosts on one machine: network namespaces joined by a link of chosen speed, Open MPI across them.
# Trains on both with a quick and a slow link, and checks that the slow one shows in the diagnosis.
#   namespaces.sh <lockstep>        exit code 77: skipped, with the reason
set -euo pipefail
lockstep=$(realpath "$1")
[ "$(id -u)" = 0 ] || { echo "skipped: making network namespaces needs root"; exit 77; }
for tool in ip tc mpirun; do
  command -v $tool >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done

folder=$(mktemp -d)
names=(lockstep-$$-a lockstep-$$-b)
cleanup() {
  for name in "${names[@]}"; do ip netns del "$name" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap cleanup EXIT

ip netns add "${names[0]}" 2>"$folder/why" || { echo "skipped: $(cat "$folder/why")"; exit 77; }
ip netns add "${names[1]}"
ip link add "ls$$a" type veth peer name "ls$$b" || { echo "skipped: no veth links here"; exit 77; }
for i in 0 1; do
  device=ls$$$([ $i = 0 ] && echo a || echo b)
  ip link set "$device" netns "${names[$i]}"
  ip -n "${names[$i]}" addr add 10.77.0.$((i + 1))/24 dev "$device"
  ip -n "${names[$i]}" link set "$device" up
  ip -n "${names[$i]}" link set lo up
done

shape() {  # shape <rate>
  for i in 0 1; do
    device=ls$$$([ $i = 0 ] && echo a || echo b)
    ip netns exec "${names[$i]}" tc qdisc replace dev "$device" root tbf rate "$1" burst 256kb latency 50ms
  done
}
shape 1gbit || { echo "skipped: this kernel cannot shape links (tc tbf)"; exit 77; }

# What ssh would be on a cluster: runs the rest of its words on the host that the first one names.
cat >"$folder/agent" <<AGENT
#!/bin/bash
case \$1 in
  10.77.0.1) name=${names[0]} ;;
  10.77.0.2) name=${names[1]} ;;
esac
shift
exec ip netns exec \$name bash -c "\$*"
AGENT
chmod +x "$folder/agent"
printf '10.77.0.1 slots=2\n10.77.0.2 slots=2\n' >"$folder/hosts"
cat >"$folder/net.toml" <<'TOML'
name = "net"
[model]
layers = ["dense 512 relu", "dense 256 relu", "dense 10"]
[data]
name = "mnist-sample"
[train]
epochs = 2
batch = 64
TOML

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
train() {  # train <more words>: summary.json of two ranks, one a host
  ip netns exec "${names[0]}" timeout 120 mpirun --bind-to none --map-by node --mca plm_rsh_agent "$folder/agent" \
    --hostfile "$folder/hosts" --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 \
    --mca oob_tcp_if_include 10.77.0.0/24 -x LOCKSTEP_SHARE -n 2 \
    "$lockstep" train "$folder/net.toml" --quiet --json --out "$folder/run" "$@"
}
value() { sed -n "s/^ *\"$1\": *\"\{0,1\}\([^\",]*\).*/\1/p" "$2" | head -1; }
expect() { "$@" || { echo "FAILED: $*"; exit 1; }; }

for strategy in all-reduce average-weights; do
  train --set "parallel.strategy=$strategy" >"$folder/$strategy.json"
  expect grep -q '"ending": "finished"' "$folder/$strategy.json"
  expect grep -q '"ranks": 2' "$folder/$strategy.json"
  echo "$strategy at 1 Gbit/s: exposed communication $(value exposed_communication_share "$folder/$strategy.json")"
done
quick=$(value exposed_communication_share "$folder/all-reduce.json")
shape 50mbit
train >"$folder/slow.json"
slow=$(value exposed_communication_share "$folder/slow.json")
echo "all-reduce at 50 Mbit/s: exposed communication $slow"
expect awk "BEGIN { exit !($slow > $quick && $slow > 0.5) }"
expect grep -q 'communication-bound; try a global batch' "$folder/slow.json"
grep diagnosis "$folder/slow.json"
