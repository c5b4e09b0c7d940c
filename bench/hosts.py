"""Hosts on one machine, for benchmarks: clusters that 'lockstep cluster up' emulates. Needs root."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile

ETHERNET_PAYLOAD = 1448 / 1514  # of a link's bandwidth: TCP segments of whole frames, with time stamps


class Unavailable(Exception):
    """Hosts cannot be made here; the text says why."""


def cluster_file(nodes, network):
    """Text of a cluster file. nodes: a list of tables for [[node]]; network: a table. Rates are payload rates of Ethernet."""
    lines = []
    for node in nodes:
        lines += ["[[node]]", *(f"{key} = {value}" for key, value in {"cores": 1, "speed": 1.0, "memory_gb": 8, **node}.items())]
    defaults = {"latency_us": 50, "efficiency": round(ETHERNET_PAYLOAD, 4), "cpu_us_per_mb": 300}
    lines += ["[network]", *(f"{key} = {value}" for key, value in {**defaults, **network}.items())]
    return "\n".join(lines) + "\n"


def star_file(count, mbit, cores=1):
    return cluster_file([{"count": count, "cores": cores}], {"bandwidth_gbit": mbit / 1000})


class Hosts:
    """The hosts of a cluster file, until the end of a with statement."""

    def __init__(self, program, text, congestion=None):
        self.program, self.name, self.up = program, f"bench-{os.getpid()}", False
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that close() is called
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "cluster.toml"
            file.write_text(f'name = "{self.name}"\n{text}', encoding="utf-8")
            command = [program, "cluster", "up", file, *(["--congestion", congestion] if congestion else [])]
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode != 0:
            raise Unavailable(done.stderr.strip())
        self.up = True

    def _output(self, words):
        done = subprocess.run([str(word) for word in [self.program, *words]], capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, words))} failed: {done.stderr[-2000:]}")
        return done.stdout

    def lockstep(self, verb, *words):
        """Runs a verb with its ranks on the hosts; returns its standard output."""
        return self._output([verb, *words, "--cluster", self.name])

    def mpi_program(self, *words):
        """Runs another MPI program with one rank per core of the hosts; returns its standard output."""
        return self._output(["cluster", "run", self.name, "--", *words])

    def close(self):
        if self.up:
            self._output(["cluster", "down", self.name])
        self.up = False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
