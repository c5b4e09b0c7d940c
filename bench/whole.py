#!/usr/bin/env python3
"""Benchmarks beyond the throughput of steps: whole processes, start-up, reading, memory, threads.

    bench/whole.py [--rounds 20]
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

import rival

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = os.environ.get("LOCKSTEP", str(HERE.parent / "build" / "lockstep"))


def seconds(words):
    """Wall time of a whole process, from its start to its end."""
    quiet = [(os.POSIX_SPAWN_OPEN, stream, "/dev/null", os.O_WRONLY, 0) for stream in (1, 2)]
    start = time.perf_counter()
    _, status = os.waitpid(os.posix_spawn(words[0], words, os.environ, file_actions=quiet), 0)
    if status:
        raise SystemExit(f"failed: {' '.join(words)}")
    return time.perf_counter() - start


def summary(words):
    return json.loads(subprocess.run([PROGRAM, *words, "--json"], check=True, capture_output=True, text=True).stdout)


def iris(rounds, folder):
    """PyTorch's loop saves nothing, so the run folder is in memory; the time with files synced to disk is shown too."""
    memory = tempfile.mkdtemp(dir="/dev/shm") if os.access("/dev/shm", os.W_OK) else folder
    ours, synced, theirs = [], [], []
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})  # children inherit it; taskset would add its own start-up time
    train = [PROGRAM, "train", "iris-mlp", "--quiet", "--out"]
    for turn in range(3):
        for times, place in (ours, memory), (synced, folder):  # separately: a disk keeps working after a sync
            times += [seconds([*train, f"{place}/iris-{turn}-{i}"]) for i in range(rounds)]
        out = subprocess.run([rival.python(), str(HERE / "pytorch" / "iris.py"), str(HERE.parent / "data" / "iris.csv")],
                             check=True, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}).stdout
        theirs += json.loads(out)
    os.sched_setaffinity(0, cores)
    shutil.rmtree(memory, ignore_errors=True)
    mine, disk, pytorch_seconds = (statistics.median(times) for times in (ours, synced, theirs))
    print(f"iris-mlp, 100 epochs: whole process {mine * 1e3:.1f} ms ({disk * 1e3:.1f} ms with its files synced to this disk), "
          f"PyTorch's loop alone {pytorch_seconds * 1e3:.0f} ms: {pytorch_seconds / mine:.1f} x ({pytorch_seconds / disk:.1f} x) (must 20, aim 100)")


def threads():
    """Ratios of median and of undisturbed steps (the fastest fortieth): a disturbance on either core delays two threads."""
    ratios, undisturbed = [], []
    for _ in range(5):
        one, two = (summary(["bench", "cnn-690k", "--seconds", "1.5", "--threads", str(n)]) for n in (1, 2))
        ratios.append(two["samples_per_second"] / one["samples_per_second"])
        undisturbed.append(one["undisturbed_step_ms"] / two["undisturbed_step_ms"])
    print(f"cnn-690k, two threads on two cores: {statistics.median(ratios):.2f} x one ({min(ratios):.2f} to {max(ratios):.2f}), "
          f"undisturbed {statistics.median(undisturbed):.2f} x (must 1.8, aim 1.95)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    subprocess.run([PROGRAM, "data", "get", "mnist"], check=True, stdout=subprocess.DEVNULL)
    rival.print_head("1 thread each, the same core", "eager")
    with tempfile.TemporaryDirectory() as folder:
        iris(options.rounds, folder)
        times = [seconds([PROGRAM, "--help"]) for _ in range(options.rounds)]
        print(f"lockstep --help: {statistics.median(times) * 1e3:.1f} ms (must: under 20)")
        run = summary(["train", "cnn-690k", "--quiet", "--set", "train.epochs=1", "--out", f"{folder}/cnn"])
        reads = [summary(["train", "mlp-1", "--quiet", "--set", "train.epochs=1", "--set", "data.limit=128", "--force", "--out", f"{folder}/read"])["read_seconds"] for _ in range(5)]
        print(f"MNIST read, ready to train: {statistics.median(reads) * 1e3:.0f} ms (must: under 100)")
        print(f"peak memory, cnn-690k on MNIST: {run['peak_memory_bytes'] / 1e6:.0f} MB (must: under 200)")
    threads()


main()
