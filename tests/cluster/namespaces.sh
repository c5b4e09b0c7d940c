#!/usr/bin/env bash
# Two emulated hosts with Open MPI: trains on both with a fast and a slow link, and checks that the diagnosis names the
# slow one; then kills the cluster's keeper and checks that nothing is left.
#   namespaces.sh <lockstep>        exit code 77: skipped, with the reason
set -euo pipefail
lockstep=$(realpath "$1")
[ "$(id -u)" = 0 ] || { echo "skipped: emulated hosts need root"; exit 77; }
folder=$(mktemp -d)
cluster=test-$$
cleanup() {
  for name in $cluster $cluster-b; do "$lockstep" cluster down $name 2>/dev/null || true; done
  rm -rf "$folder"
}
trap cleanup EXIT

up() {  # up <gbit>
  cat >"$folder/cluster.toml" <<TOML
name = "$cluster"
[node]
count = 2
cores = 1
memory_gb = 4
[network]
bandwidth_gbit = $1
TOML
  "$lockstep" cluster up "$folder/cluster.toml" >"$folder/up" 2>&1 || { echo "skipped: $(cat "$folder/up")"; exit 77; }
}
expect() { "$@" || { echo "FAILED: $*"; exit 1; }; }

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

train() {  # train <options>: prints summary.json of two ranks, one per host
  "$lockstep" train "$folder/net.toml" --cluster $cluster --quiet --json --force --out "$folder/run" "$@"
}
value() { sed -n "s/^ *\"$1\": *\"\{0,1\}\([^\",]*\).*/\1/p" "$2" | head -1; }

up 1
"$lockstep" cluster list >"$folder/list"
expect grep -q "$cluster-h1" "$folder/list"
expect grep -q "already up" <("$lockstep" cluster up "$folder/cluster.toml" 2>&1)
for strategy in all-reduce average-weights; do
  train --set "parallel.strategy=$strategy" >"$folder/$strategy.json"
  expect grep -q '"ending": "finished"' "$folder/$strategy.json"
  expect grep -q '"ranks": 2' "$folder/$strategy.json"
  expect grep -q '"emulated_hosts": true' "$folder/$strategy.json"
  echo "$strategy at 1 Gbit/s: exposed communication $(value exposed_communication_share "$folder/$strategy.json")"
done
quick=$(value exposed_communication_share "$folder/all-reduce.json")
"$lockstep" cluster down $cluster
up 0.05
train >"$folder/slow.json"
slow=$(value exposed_communication_share "$folder/slow.json")
echo "all-reduce at 50 Mbit/s: exposed communication $slow"
expect awk "BEGIN { exit !($slow > $quick && $slow > 0.5) }"
expect grep -q 'exposed communication; try a global batch' "$folder/slow.json"
grep diagnosis "$folder/slow.json"

# A point of a prediction and its real run, without computing.
"$lockstep" bench "$folder/net.toml" --cluster $cluster --emulate-compute --seconds 1 --json >"$folder/bench.json" 2>"$folder/bench.err"
expect grep -q '"emulated_compute": true' "$folder/bench.json"

# All-reduces of 6 ranks on 3 hosts are made by node. A run resumed on one host adds in the same order.
sed "s/name = .*/name = \"$cluster-b\"/; s/count = 2/count = 3/; s/cores = 1/cores = 2/" "$folder/cluster.toml" >"$folder/three.toml"
"$lockstep" cluster up "$folder/three.toml" >/dev/null 2>&1
three() { "$lockstep" train "$@" --quiet --json; }
three "$folder/net.toml" --cluster $cluster-b --out "$folder/whole" >"$folder/whole.json"
expect grep -q '"all_reduce": "by node"' "$folder/whole.json"
three "$folder/net.toml" --cluster $cluster-b --out "$folder/half" --set train.epochs=1 --set train.checkpoint_every=1 >/dev/null
three --resume "$folder/half" --ranks 6 --set train.epochs=2 >"$folder/resumed.json"
expect grep -q '"all_reduce": "by node"' "$folder/resumed.json"
expect cmp "$folder/whole/model/model.safetensors" "$folder/half/model/model.safetensors"
"$lockstep" cluster down $cluster-b
echo "resumed on other nodes with the same bits"

# A host that cannot be reached is named; so is a program of another version.
agent=/run/lockstep/clusters/$cluster/agent
cp $agent "$folder/agent"
sed -i '2i [ "$1" != 10.79.0.2 ] || { echo "no route to host" >\&2; exit 255; }' $agent
expect grep -q "10.79.0.2 (no route to host)" <(train 2>&1)
printf '#!/bin/sh\n[ "$1" = 10.79.0.1 ] && echo "lockstep 9.9.9" && exit\nexec %s/agent "$@"\n' "$folder" >$agent
expect grep -q "different versions" <(train 2>&1)

# The kernel removes hosts whose keeper is killed; the next verb removes its files.
keeper=$(sed -n 's/.*"keeper": \([0-9]*\).*/\1/p' /run/lockstep/clusters/$cluster/state.json)
host=$(sed -n 's/.*"process": \([0-9]*\).*/\1/p' /run/lockstep/clusters/$cluster/state.json | head -1)
kill -KILL "$keeper"
for _ in $(seq 50); do [ -e "/proc/$host/ns/net" ] || break; sleep 0.1; done
expect test ! -e "/proc/$host/ns/net"
"$lockstep" cluster list >"$folder/list"
expect test ! -e /run/lockstep/clusters/$cluster
expect grep -q "no emulated cluster '$cluster' is up" <("$lockstep" bench "$folder/net.toml" --cluster $cluster 2>&1)
echo "nothing is left"
