#!/usr/bin/env bash
# Two hosts on one machine (network namespaces) with links of known speed: steps of real MPI ranks across them,
# and what 'lockstep simulate' says of the same two hosts. Needs root. Fails above 15%.
#   bench/validate_hosts.sh build/lockstep [preset ...]
set -euo pipefail
lockstep=$(realpath "$1")
shift
presets=("${@:-cnn-690k}")
source "$(dirname "${BASH_SOURCE[0]}")/../tests/cluster/two_hosts.sh"

value() { sed -n "s/^ *\"$1\": *\([^\",]*\).*/\1/p" | head -1; }
measured() { on_two_hosts 300 "$lockstep" bench "$@" --seconds 4 --json 2>/dev/null | value step_ms; }
worst=0
for rate in 100 1000; do
  shape "${rate}mbit" 1000ms
  # A link through two TCP stacks of this machine; tbf counts headers of whole segments, which are few.
  cat >"$folder/cluster.toml" <<TOML
name = "two namespaces"
[node]
count = 2
cores = 1
speed = 1.0
memory_gb = 8
[network]
bandwidth_gbit = $(awk "BEGIN { print $rate / 1000 }")
latency_us = 10
efficiency = 0.96
cpu_us_per_mb = 300
TOML
  for preset in "${presets[@]}"; do
    for strategy in all-reduce reduce-broadcast; do
      real=$(measured "$preset" --set parallel.strategy=$strategy)
      said=$("$lockstep" simulate "$preset" --cluster "$folder/cluster.toml" --ranks 2 --strategy $strategy \
        --bench --json --quiet --out "$folder/run" | value step_seconds)
      error=$(awk "BEGIN { printf \"%.1f\", ($said * 1000 / $real - 1) * 100 }")
      printf '%-12s %-17s %5s Mbit/s  simulated %8.2f ms  measured %8.2f ms  error %+.1f%%\n' "$preset" $strategy $rate \
        "$(awk "BEGIN { print $said * 1000 }")" "$real" "$error"
      worst=$(awk "BEGIN { e = ($error < 0) ? -($error) : $error; print (e > $worst) ? e : $worst }")
    done
  done
done
echo "largest error $worst%"
awk "BEGIN { exit !($worst <= 15) }"
