"""Hosts on one machine: network namespaces, joined by bridges whose links have a chosen speed. Needs root, ip and tc."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

ETHERNET_PAYLOAD = 1448 / 1514  # of a link's bandwidth: TCP segments of whole frames, with time stamps
SUBNET = "10.79"


class Unavailable(Exception):
    """Hosts cannot be made here; the text says why."""


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


class Hosts:
    """A star of hosts, whose links carry `rates` Mbit/s."""

    def __init__(self, rates, congestion=None):
        if os.geteuid() != 0:
            raise Unavailable("making network namespaces needs root")
        for tool in ("ip", "tc", "mpirun"):
            if not shutil.which(tool):
                raise Unavailable(f"{tool} is not installed")
        self.rates, self.congestion = rates, congestion
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.prefix = f"ls{os.getpid() % 100000}"
        self.made = []
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that close() is called
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def _shape(self, space, link, rate):
        # A link forwards packets whole, and saves up a burst while it is idle: both are kept at about a millisecond, as the
        # network stack would hand over 64 KB at once, which takes 26 ms at 20 Mbit/s.
        millisecond = int(rate * 1e6 / 8 / 1000)
        packet = min(65536, max(3000, millisecond))
        run("ip", "-n", space, "link", "set", "dev", link, "gso_max_size", packet)
        run("ip", "netns", "exec", space, "tc", "qdisc", "replace", "dev", link, "root", "tbf", "rate", f"{rate}mbit", "burst",
            max(8192, packet + 1600, millisecond), "latency", "1000ms")

    def _space(self, name):
        run("ip", "netns", "add", name)
        self.made.append(name)
        run("ip", "-n", name, "link", "set", "lo", "up")

    def _make(self):
        switch = f"{self.prefix}-sw"
        self._space(switch)
        run("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
        run("ip", "-n", switch, "link", "set", "bridge", "up")
        self.names, self.addresses = [], []
        for i, rate in enumerate(self.rates):
            name, port = f"{self.prefix}-h{i}", f"p{i}"
            self._space(name)
            if self.congestion:
                run("ip", "netns", "exec", name, "sysctl", "-qw", f"net.ipv4.tcp_congestion_control={self.congestion}")
            run("ip", "-n", switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
            run("ip", "-n", switch, "link", "set", port, "master", "bridge", "up")
            address = f"{SUBNET}.0.{i + 1}"
            run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
            run("ip", "-n", name, "link", "set", "eth0", "up")
            self._shape(name, "eth0", rate)
            self._shape(switch, port, rate)
            self.names.append(name)
            self.addresses.append(address)
        # Replaces ssh. Each host has its own name and folder, in which Open MPI keeps its files.
        agent = self.folder / "agent"
        cases = "\n".join(f"  {address}) host={i} ;;" for i, address in enumerate(self.addresses))
        agent.write_text(f"""#!/bin/bash
case $1 in
{cases}
  *) echo "no such host: $1" >&2; exit 255 ;;
esac
shift
mkdir -p {self.folder}/host$host
export OMPI_MCA_orte_tmpdir_base={self.folder}/host$host PMIX_MCA_gds=hash
exec ip netns exec {self.prefix}-h$host unshare --uts bash -c "hostname host$host; $*"
""")
        agent.chmod(0o755)

    def mpirun(self, words):
        """Runs a job with one rank per host; returns its standard output."""
        ranks = len(self.names)
        hosts = self.folder / "hosts"
        hosts.write_text("".join(f"{address} slots=1\n" for address in self.addresses))
        network = f"{SUBNET}.0.0/24"
        command = [self.folder / "agent", self.addresses[0], "exec", "timeout", "300", "mpirun", "--bind-to", "none", "--map-by", "slot",
                   "--mca", "plm_rsh_agent", self.folder / "agent", "--hostfile", hosts, "--mca", "btl", "tcp,self",
                   "--mca", "btl_tcp_if_include", network, "--mca", "oob_tcp_if_include", network]
        for name in ("LOCKSTEP_SHARE", "LOCKSTEP_DATA"):
            if name in os.environ:
                command += ["-x", name]
        env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = subprocess.run([str(w) for w in [*command, "-n", ranks, *words]], capture_output=True, text=True, env=env)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, words))} on {ranks} ranks failed: {done.stderr[-2000:]}")
        return done.stdout

    def close(self):
        for name in self.made:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        self.made = []
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def star(count, rate, congestion=None):
    return Hosts([rate] * count, congestion)
