#!/usr/bin/env bash
# Compares steps of two real MPI ranks with the predictions of 'lockstep simulate', for several strategies and bucket
# sizes. The two hosts are network namespaces of this machine, joined by a link of known bandwidth. Needs root. Fails if
# an error exceeds 15%, or if two cases of a preset that differ by over 5% are predicted in the wrong order.
#   bench/validate_hosts.sh build/lockstep [preset ...]
set -euo pipefail
lockstep=$(realpath "$1")
shift
presets=("${@:-cnn-690k}")
source "$(dirname "${BASH_SOURCE[0]}")/../tests/cluster/two_hosts.sh"

value() { sed -n "s/^ *\"$1\": *\([^\",]*\).*/\1/p" | head -1; }
# The less disturbed of two runs, by median step: single steps are too short when the root is one step ahead because its
# last message is still in flight.
measured() {
  for _ in 1 2; do
    on_two_hosts 300 "$lockstep" bench "$@" --seconds 3 --json 2>/dev/null | value step_ms
  done | sort -g | head -1
}
worst=0
for rate in 100 1000; do
  shape "${rate}mbit" 1000ms
  # The link passes through two TCP stacks of this machine; tbf counts the headers of whole segments only.
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
    for way in "all-reduce 0.1" "all-reduce 1" "all-reduce 8" "reduce-broadcast 1"; do
      read -r strategy bucket <<<"$way"
      real=$(measured "$preset" --set parallel.strategy=$strategy --set parallel.bucket_mb=$bucket)
      said=$("$lockstep" simulate "$preset" --cluster "$folder/cluster.toml" --ranks 2 --strategy $strategy \
        --set parallel.bucket_mb=$bucket --bench --json --quiet --force --out "$folder/run" | value step_seconds)
      error=$(awk "BEGIN { printf \"%.1f\", ($said * 1000 / $real - 1) * 100 }")
      printf '%-12s %-17s buckets of %3s MB  %5s Mbit/s  simulated %8.2f ms  measured %8.2f ms  error %+.1f%%\n' "$preset" \
        $strategy $bucket $rate "$(awk "BEGIN { print $said * 1000 }")" "$real" "$error"
      worst=$(awk "BEGIN { e = ($error < 0) ? -($error) : $error; print (e > $worst) ? e : $worst }")
      echo "$preset-$rate $said $real" >>"$folder/order"
    done
  done
done
wrong=$(awk '{ for (i = 0; i < n; i++) if (name[i] == $1) {
    if ($3 > 1.05 * real[i]) { pairs++; if ($2 < said[i]) wrong++ }
    if (real[i] > 1.05 * $3) { pairs++; if (said[i] < $2) wrong++ } }
  name[n] = $1; said[n] = $2; real[n] = $3; n++ }
  END { print wrong + 0, pairs + 0 }' "$folder/order")
echo "predicted in the wrong order, of pairs that differ by over 5%: ${wrong% *} of ${wrong#* }"
echo "largest error $worst%"
awk "BEGIN { exit !($worst <= 15 && ${wrong% *} == 0) }"
