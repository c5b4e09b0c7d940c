# Sourced: two hosts on one machine, network namespaces joined by a link of chosen speed.
# Provides $folder, shape <rate> <latency> and on_two_hosts <seconds> <command>: one MPI rank per host.
# Exits with code 77 and the reason if something is missing.
[ "$(id -u)" = 0 ] || { echo "skipped: making network namespaces needs root"; exit 77; }
for tool in ip tc mpirun; do
  command -v $tool >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done

folder=$(mktemp -d)
hosts=(lockstep-$$-a lockstep-$$-b)
links=("ls$$a" "ls$$b")
cleanup() {
  for host in "${hosts[@]}"; do ip netns del "$host" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap cleanup EXIT

ip netns add "${hosts[0]}" 2>"$folder/why" || { echo "skipped: $(cat "$folder/why")"; exit 77; }
ip netns add "${hosts[1]}"
ip link add "${links[0]}" type veth peer name "${links[1]}" || { echo "skipped: no veth links here"; exit 77; }
for i in 0 1; do
  ip link set "${links[$i]}" netns "${hosts[$i]}"
  ip -n "${hosts[$i]}" addr add 10.77.0.$((i + 1))/24 dev "${links[$i]}"
  ip -n "${hosts[$i]}" link set "${links[$i]}" up
  ip -n "${hosts[$i]}" link set lo up
done

# An idle link saves up a burst, which is as small as whole segments allow.
shape() {
  for i in 0 1; do
    ip netns exec "${hosts[$i]}" tc qdisc replace dev "${links[$i]}" root tbf rate "$1" burst 96kb latency "$2" ||
      { echo "skipped: this kernel cannot shape links (tc tbf)"; exit 77; }
  done
}

# Replaces ssh: runs a command on the host given as the first argument.
cat >"$folder/agent" <<AGENT
#!/bin/bash
case \$1 in
  10.77.0.1) name=${hosts[0]} ;;
  10.77.0.2) name=${hosts[1]} ;;
esac
shift
exec ip netns exec \$name bash -c "\$*"
AGENT
chmod +x "$folder/agent"
printf '10.77.0.1 slots=2\n10.77.0.2 slots=2\n' >"$folder/hosts"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
on_two_hosts() {
  local limit=$1
  shift
  ip netns exec "${hosts[0]}" timeout "$limit" mpirun --bind-to none --map-by node --mca plm_rsh_agent "$folder/agent" \
    --hostfile "$folder/hosts" --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 \
    --mca oob_tcp_if_include 10.77.0.0/24 -x LOCKSTEP_SHARE -x LOCKSTEP_DATA -n 2 "$@"
}
