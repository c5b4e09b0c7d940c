#!/usr/bin/env python3
"""Ratios of Lockstep's speed to PyTorch's, on the same single core, measured in turn.

    bench/compare.py [presets | sweep | all] [--rounds 5] [--seconds 1] [--core 0] [--eager]

PyTorch (bench/rival.py) uses its fastest layout, eager or compiled, and a tuned malloc. Each round runs both; its ratio
is that of the two medians. A row shows the median of the rounds and their range.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

import rival

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = os.environ.get("LOCKSTEP", str(HERE.parent / "build" / "lockstep"))

PRESETS = [("cnn-690k", 128, 3.0, 7.0), ("simple-cnn", 64, 2.5, 5.0), ("mlp-3", 128, 1.3, 1.6)]

# name, input (height, width, channels), batch, layers
SWEEP = [
    ("lenet", (28, 28, 1), 64, ["conv 6 5x5 pad 2 relu", "maxpool 2", "conv 16 5x5 relu", "maxpool 2", "dense 120 relu", "dense 84 relu"]),
    ("cifar-small", (32, 32, 3), 64, ["conv 32 3x3 pad 1 relu", "maxpool 2", "conv 64 3x3 pad 1 relu", "maxpool 2", "dense 64 relu"]),
    ("cifar-nopool", (32, 32, 3), 32, ["conv 32 3x3 pad 1 relu", "conv 32 3x3 pad 1 relu", "conv 64 3x3 stride 2 pad 1 relu", "dense 64 relu"]),
    ("cifar-bn", (32, 32, 3), 32, ["conv 32 3x3 pad 1", "batchnorm relu", "maxpool 2", "conv 64 3x3 pad 1", "batchnorm relu", "maxpool 2"]),
    ("vgg-block", (32, 32, 3), 16, ["conv 32 3x3 pad 1 relu", "conv 32 3x3 pad 1 relu", "maxpool 2", "conv 64 3x3 pad 1 relu", "conv 64 3x3 pad 1 relu", "maxpool 2", "dense 128 relu"]),
    ("wide-7x7", (7, 7, 256), 32, ["conv 256 3x3 pad 1 relu"]),
    ("wide-7x7-pool", (7, 7, 256), 32, ["conv 256 3x3 pad 1 relu", "maxpool 2"]),
    ("mid-14x14", (14, 14, 64), 32, ["conv 64 3x3 pad 1 relu", "conv 64 3x3 pad 1 relu"]),
    ("mid-16x16-5x5", (16, 16, 32), 32, ["conv 64 5x5 pad 2 relu"]),
    ("5x5-pool", (24, 24, 16), 32, ["conv 32 5x5 pad 2 relu", "maxpool 2"]),
    ("pointwise", (16, 16, 64), 32, ["conv 128 1x1 relu", "conv 64 1x1 relu"]),
    ("pointwise-bn", (14, 14, 128), 32, ["conv 64 1x1", "batchnorm relu", "conv 128 1x1", "batchnorm relu"]),
    ("bottleneck", (14, 14, 64), 16, ["conv 32 1x1 relu", "conv 32 3x3 pad 1 relu", "conv 64 1x1 relu"]),
    ("stride-2", (32, 32, 16), 32, ["conv 32 3x3 stride 2 pad 1 relu", "conv 64 3x3 stride 2 pad 1 relu"]),
    ("stem-7x7", (64, 64, 3), 16, ["conv 32 7x7 stride 2 pad 3 relu", "maxpool 3 stride 2 pad 1", "conv 64 3x3 pad 1 relu"]),
    ("large-64", (64, 64, 3), 16, ["conv 16 3x3 pad 1 relu", "maxpool 2", "conv 32 3x3 pad 1 relu", "maxpool 2", "conv 64 3x3 pad 1 relu", "maxpool 2"]),
    ("large-64-nopool", (64, 64, 8), 8, ["conv 16 3x3 pad 1 relu", "conv 16 3x3 pad 1 relu"]),
    ("valid-28", (28, 28, 1), 64, ["conv 16 3x3 relu", "conv 32 3x3 relu", "maxpool 2", "dense 64 relu"]),
    ("avgpool", (28, 28, 8), 32, ["conv 16 3x3 pad 1 relu", "avgpool 2", "conv 32 3x3 pad 1 relu", "avgpool 2"]),
    ("resnet-block", (16, 16, 32), 32, ["residual(conv 32 3x3 pad 1; batchnorm relu; conv 32 3x3 pad 1; batchnorm)", "relu"]),
    ("resnet-down", (16, 16, 32), 32, ["residual(conv 64 3x3 stride 2 pad 1; batchnorm relu; conv 64 3x3 pad 1; batchnorm | conv 64 1x1 stride 2)", "relu"]),
    ("oblong", (20, 20, 32), 32, ["conv 32 1x5 pad 0x2 relu", "conv 32 5x1 pad 2x0 relu"]),
    ("deep-128", (8, 8, 128), 32, ["conv 128 3x3 pad 1 relu", "conv 128 3x3 pad 1 relu", "maxpool 2"]),
    ("odd-channels", (15, 15, 11), 32, ["conv 23 3x3 pad 1 relu", "maxpool 2", "conv 37 3x3 relu"]),
]


class Worker:
    """One PyTorch process that waits between rounds."""

    def __init__(self, spec, core):
        self.process = subprocess.Popen(
            ["taskset", "-c", str(core), rival.python(), str(HERE / "pytorch" / "worker.py"), json.dumps(spec)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **rival.TUNED, "OMP_NUM_THREADS": "1"})
        if self.process.stdout.readline().strip() != "ready":
            raise SystemExit("the PyTorch worker did not start")

    def run(self, seconds):
        self.process.stdin.write(json.dumps({"seconds": seconds}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["median"]

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


def ours(words, seconds, core):
    out = subprocess.run(["taskset", "-c", str(core), PROGRAM, "bench", *words, "--seconds", str(seconds), "--threads", "1", "--json"],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)["step_ms"] / 1e3


def compare(words, spec, options):
    ways = [(layout, compiled) for layout in ("channels_last", "contiguous") for compiled in ([False, True] if options.compile else [False])]
    workers = {way: Worker({**spec, "layout": way[0], "compile": way[1]}, options.core) for way in ways}
    ratios, rates, wins = [], [], []
    for _ in range(options.rounds):
        mine = ours(words, options.seconds, options.core)
        times = {way: worker.run(options.seconds) for way, worker in workers.items()}
        wins.append(min(times, key=times.get))
        theirs = times[wins[-1]]
        ratios.append(theirs / mine)
        rates.append((spec["batch"] / mine, spec["batch"] / theirs))
    for worker in workers.values():
        worker.close()
    layout, compiled = statistics.mode(wins)
    return ratios, [statistics.median(r[i] for r in rates) for i in (0, 1)], f"{layout}, {'compiled' if compiled else 'eager'}"


def cache():
    folder = os.environ.get("LOCKSTEP_DATA") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "lockstep")
    return pathlib.Path(folder) / "mnist"


def row(name, ratios, rates, best, note=""):
    print(f"{name:<16} {rates[0]:>10,.0f} {rates[1]:>10,.0f} {statistics.median(ratios):>7.2f} x  ({min(ratios):.2f} to {max(ratios):.2f})  {best}  {note}", flush=True)


def presets(options):
    print(f"{'on MNIST images':<16} {'lockstep/s':>10} {'pytorch/s':>10}   ratio")
    for name, batch, must, aim in PRESETS:
        layers = json.loads(subprocess.run([PROGRAM, "models", name, "--json"], check=True, capture_output=True, text=True).stdout)["layers"]
        spec = {"input": (28, 28, 1), "batch": batch, "classes": 10, "layers": [l["layer"] for l in layers],
                "images": str(cache() / "train-images-idx3-ubyte"), "labels": str(cache() / "train-labels-idx1-ubyte")}
        ratios, rates, best = compare([name, "--batch", str(batch)], spec, options)
        row(name, ratios, rates, best, f"must {must}, aim {aim}")


def sweep(options):
    print(f"{'on noise':<16} {'lockstep/s':>10} {'pytorch/s':>10}   ratio")
    medians = []
    with tempfile.TemporaryDirectory() as folder:
        for name, shape, batch, layers in SWEEP:
            lines = [*layers, "dense 10"]
            path = pathlib.Path(folder) / f"{name}.toml"
            path.write_text(f"[model]\nlayers = {json.dumps(lines)}\n[train]\nbatch = {batch}\n")
            spec = {"input": shape, "batch": batch, "classes": 10, "layers": lines}
            ratios, rates, best = compare([str(path), "--input", "x".join(map(str, shape))], spec, options)
            medians.append(statistics.median(ratios))
            row(name, ratios, rates, best)
    print(f"{len(medians)} networks: geometric mean {statistics.geometric_mean(medians):.2f} x (must 1.5, aim 2.5), smallest {min(medians):.2f} x (must 0.9, aim 1.2)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="all", choices=["presets", "sweep", "all"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--eager", action="store_true", help="without torch.compile")
    options = parser.parse_args()
    options.compile = not options.eager and rival.can_compile()
    rival.print_head("1 thread each, the same core", f"the best of two layouts, {'eager and compiled' if options.compile else 'eager'}")
    if options.what in ("presets", "all"):
        subprocess.run([PROGRAM, "data", "get", "mnist"], check=True, stdout=subprocess.DEVNULL)
        presets(options)
    if options.what in ("sweep", "all"):
        sweep(options)


main()
