#!/usr/bin/env bash
# Two hosts on one machine: network namespaces joined by a link of chosen speed, with Open MPI.
# Trains on both with a fast and a slow link, and checks that the diagnosis names the slow one.
#   namespaces.sh <lockstep>        exit code 77: skipped, with the reason
set -euo pipefail
lockstep=$(realpath "$1")
source "$(dirname "${BASH_SOURCE[0]}")/two_hosts.sh"
shape 1gbit 50ms

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
  on_two_hosts 120 "$lockstep" train "$folder/net.toml" --quiet --json --force --out "$folder/run" "$@"
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
shape 50mbit 50ms
train >"$folder/slow.json"
slow=$(value exposed_communication_share "$folder/slow.json")
echo "all-reduce at 50 Mbit/s: exposed communication $slow"
expect awk "BEGIN { exit !($slow > $quick && $slow > 0.5) }"
expect grep -q 'exposed communication; try a global batch' "$folder/slow.json"
grep diagnosis "$folder/slow.json"
