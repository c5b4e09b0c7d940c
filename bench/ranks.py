#!/usr/bin/env python3
"""Two ranks on two cores, against two independent runs at the same time and against PyTorch DDP (gloo).

    bench/ranks.py [--rounds 5] [--seconds 2]

Cases of a row are measured in turn; a row shows the median ratio of the rounds and their range. A disturbance on one core
delays both ranks, but only one of two independent runs, so these rows also compare the fastest steps of all rounds.
"""
import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import tempfile

import rival

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parent / "build"
PROGRAM = os.environ.get("LOCKSTEP", str(BUILD / "lockstep"))
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}


def parsed(process):
    out, _ = process.communicate(timeout=300)
    if process.returncode:
        raise SystemExit(f"{process.args} failed")
    return json.loads(out)


def start(words, **more):
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **more)


class Rate:
    """Samples per second, by the median step and by the fastest."""

    def __init__(self, *summaries):
        self.median = sum(s["samples_per_second"] for s in summaries)
        self.best = sum(s["best_samples_per_second"] for s in summaries)


def ranks(words, backend, seconds, *more):
    """Two ranks together."""
    return Rate(parsed(start([PROGRAM, "bench", *words, "--ranks", "2", "--backend", backend, "--affinity", "compact",
                              "--seconds", str(seconds), "--json", *more])))


def apart(words, seconds):
    """Two independent runs at the same time; their rates are added."""
    both = [start(["taskset", "-c", str(core), PROGRAM, "bench", *words, "--seconds", str(seconds), "--json"]) for core in (0, 1)]
    return Rate(*[parsed(one) for one in both])


class Ddp:
    """Two processes of DistributedDataParallel that wait between rounds."""

    def __init__(self, spec):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.batch = spec["batch"]
        self.processes = [subprocess.Popen(
            ["taskset", "-c", str(rank), rival.python(), str(HERE / "pytorch" / "worker.py"), json.dumps(spec)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **rival.TUNED, "OMP_NUM_THREADS": "1", "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
            for rank in (0, 1)]
        for process in self.processes:
            if process.stdout.readline().strip() != "ready":
                raise SystemExit("DDP did not start")
        self.step = self.ask(5)

    def ask(self, steps):
        for process in self.processes:
            process.stdin.write(json.dumps({"steps": steps}) + "\n")
            process.stdin.flush()
        return max(json.loads(process.stdout.readline())["median"] for process in self.processes)

    def run(self, seconds):
        return 2 * self.batch / self.ask(max(5, int(seconds / self.step)))

    def close(self):
        for process in self.processes:
            process.stdin.close()
        for process in self.processes:
            process.wait(30)


def row(name, ratios, note):
    print(f"{name:<62} {statistics.median(ratios):>6.2f} x  ({min(ratios):.2f} to {max(ratios):.2f})  {note}", flush=True)


def spec_of(words, batch):
    layers = json.loads(subprocess.run([PROGRAM, "models", words[0], "--json"], check=True, capture_output=True, text=True).stdout)["layers"]
    folder = os.environ.get("LOCKSTEP_DATA") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "lockstep")
    mnist = pathlib.Path(folder) / "mnist"
    return {"input": (28, 28, 1), "batch": batch, "classes": 10, "layers": [l["layer"] for l in layers],
            "images": str(mnist / "train-images-idx3-ubyte"), "labels": str(mnist / "train-labels-idx1-ubyte")}


def against_ddp(words, batch, options):
    rivals = [Ddp({**spec_of(words, batch), "layout": layout}) for layout in ("channels_last", "contiguous")]
    rates = []
    for _ in range(options.rounds):
        mine = ranks([*words, "--batch", str(batch)], "mpi", options.seconds).median
        rates.append((mine, max(rival.run(options.seconds) for rival in rivals)))
    for rival in rivals:
        rival.close()
    print(f"  {statistics.median(r[0] for r in rates):,.0f} samples/s against {statistics.median(r[1] for r in rates):,.0f}")
    return [a / b for a, b in rates]


def all_reduce(*words):
    (times,) = parsed(start([*words], env={**os.environ, **AS_ROOT})).values()
    return times["median_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    if len(os.sched_getaffinity(0)) < 2:
        raise SystemExit("two ranks need two cores")
    subprocess.run([PROGRAM, "data", "get", "mnist"], check=True, stdout=subprocess.DEVNULL)

    rival.print_head("2 processes of 1 thread (DDP, gloo)", "channels_last")
    cnn = ["cnn-690k", "--batch", "128"]
    alone, mpi, threads = [], [], []
    for _ in range(options.rounds):
        alone.append(apart(cnn, options.seconds))
        mpi.append(ranks(cnn, "mpi", options.seconds))
        threads.append(ranks(cnn, "threads", options.seconds))
    for name, mine, note in (("MPI", mpi, "must 0.93, aim 0.98"), ("thread", threads, "must 0.96, aim 0.99")):
        row(f"cnn-690k, 2 {name} ranks against two independent runs", [m.median / a.median for m, a in zip(mine, alone)], note)
        print(f"{'  undisturbed: the fastest steps of all rounds':<62} {max(m.best for m in mine) / max(a.best for a in alone):>6.2f} x")

    row("cnn-690k, batch 128 per rank, 2 MPI ranks against DDP", against_ddp(["cnn-690k"], 128, options), "must 3, aim 7")
    with tempfile.TemporaryDirectory() as folder:
        mlp = pathlib.Path(folder) / "mlp-2048.toml"
        mlp.write_text('name = "mlp-2048"\n[model]\nlayers = ["dense 2048 relu", "dense 2048 relu", "dense 10"]\n[data]\nname = "mnist"\n')
        row("MLP 784-2048-2048-10, batch 32 per rank, against DDP", against_ddp([str(mlp)], 32, options), "must 1.5, aim 2")

    program = str(BUILD / "all_reduce")
    for size in (2, 4):
        ratios = [all_reduce("mpiexec", "--oversubscribe", "--bind-to", "none", "-n", str(size), program, "native") /
                  all_reduce(program, "threads", str(size)) for _ in range(options.rounds)]
        row(f"all-reduce of 2.8 MB, {size} thread ranks against MPI_Allreduce", ratios, "must 1, aim 2")


main()
