#!/usr/bin/env bash
# Two hosts on one machine (network namespaces) with links of known speed: steps of real MPI ranks across them,
# and what 'lockstep simulate' says of the same two hosts. Needs root. Fails above 15%.
#   bench/validate_hosts.sh build/lockstep [preset ...]
set -euo pipefail
lockstep=$(realpath "$1")
shift
presets=("${@:-cnn-690k}")
[ "$(id -u)" = 0 ] || { echo "making network namespaces needs root"; exit 77; }

folder=$(mktemp -d)
names=(lockstep-$$-a lockstep-$$-b)
cleanup() {
  for name in "${names[@]}"; do ip netns del "$name" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap cleanup EXIT
for name in "${names[@]}"; do ip netns add "$name"; done
ip link add "ls$$a" type veth peer name "ls$$b"
for i in 0 1; do
  device=ls$$$([ $i = 0 ] && echo a || echo b)
  ip link set "$device" netns "${names[$i]}"
  ip -n "${names[$i]}" addr add 10.77.0.$((i + 1))/24 dev "$device"
  ip -n "${names[$i]}" link set "$device" up
  ip -n "${names[$i]}" link set lo up
done
shape() {
  for i in 0 1; do
    device=ls$$$([ $i = 0 ] && echo a || echo b)
    ip netns exec "${names[$i]}" tc qdisc replace dev "$device" root tbf rate "$1mbit" burst 256kb latency 1000ms
  done
}
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
printf '10.77.0.1 slots=1\n10.77.0.2 slots=1\n' >"$folder/hosts"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
value() { sed -n "s/^ *\"$1\": *\([^\",]*\).*/\1/p" | head -1; }
measured() {
  ip netns exec "${names[0]}" timeout 300 mpirun --bind-to none --map-by node --mca plm_rsh_agent "$folder/agent" \
    --hostfile "$folder/hosts" --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 \
    --mca oob_tcp_if_include 10.77.0.0/24 -x LOCKSTEP_SHARE -x LOCKSTEP_DATA -n 2 \
    "$lockstep" bench "$@" --seconds 4 --json 2>/dev/null | value step_ms
}
worst=0
for rate in 100 1000; do
  shape $rate
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
