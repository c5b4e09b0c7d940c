#!/usr/bin/env python3
"""A pipeline of two ranks against two unrelated runs side by side, in turns.

bench/mesh.py build/lockstep [--rounds N] [--seconds S]

The network is a GPT-2 of 6 layers, 384 wide, with 256 tokens and a context of 64; a step is 8 micro-batches of 4. Two stages
and m micro-batches can reach m / (m + 1) of what two cores do with work of their own."""
import argparse
import json
import statistics
import subprocess
import tempfile

MICRO_BATCHES, ROWS = 8, 4
CONFIG = """
name = "gpt2-6"
[model]
layers = ["gpt2 layers 6 heads 6 width 384 context 64 vocabulary 256 dropout 0"]
[data]
name = "problems-sample"
template = "{problem} {solution}"
split_column = "split"
context = 64
[train]
batch = %d
[optimizer]
name = "adamw"
""" % (MICRO_BATCHES * ROWS)


def start(program, config, seconds, *words):
    command = [program, "bench", config, "--json", "--seconds", str(seconds), "--set", f"parallel.micro_batches={MICRO_BATCHES}", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def throughput(process):
    out, _ = process.communicate(timeout=600)
    return json.loads(out)["samples_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8)
    options = parser.parse_args()
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(CONFIG)
        file.flush()
        ways = {f"{schedule}, {backend}": ("--ranks", "2", "--backend", backend, "--mesh", "pipeline=2", "--set", f"parallel.schedule={schedule}")
                for schedule in ("1f1b", "gpipe", "interleaved") for backend in ("mpi", "threads")}
        shares = {way: [] for way in ways}
        for _ in range(options.rounds):
            apart = [start(options.program, file.name, options.seconds) for _ in range(2)]
            alone = sum(throughput(process) for process in apart)
            for way, words in ways.items():
                together = throughput(start(options.program, file.name, options.seconds, *words))
                shares[way].append(together / alone)
        print("| pipeline of 2 | share of two unrelated runs | of that x m / (m + 1) |")
        print("|---|---:|---:|")
        for way, all_shares in shares.items():
            share = statistics.median(all_shares)
            ideal = share * (MICRO_BATCHES + 1) / MICRO_BATCHES
            print(f"| {way} | {share:.3f} ({min(all_shares):.3f} to {max(all_shares):.3f}) | {ideal:.3f} |")


main()
