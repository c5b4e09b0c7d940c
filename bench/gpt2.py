#!/usr/bin/env python3
"""GPT-2 against PyTorch on the same cores, in turn; peak memory; generation relative to memory bandwidth.

    bench/gpt2.py [--rounds 3] [--text tinyshakespeare.txt]
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
TUNED = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "4294967296"}
SMALL, LARGE = (4, 4, 128, 64, 256, 12), (12, 12, 768, 64, 50257, 4)


def run(words, cores, threads=1):
    environment = {**os.environ, **TUNED, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(["taskset", "-c", cores, *words], check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout)


def ours(size, cores, threads, seconds):
    layers, heads, width, context, vocabulary, batch = size
    line = f"gpt2 layers {layers} heads {heads} width {width} context {context} vocabulary {vocabulary} dropout 0"
    return run([PROGRAM, "bench", "gpt2", "--set", f'model.layers=["{line}"]', "--input", str(context), "--batch", str(batch),
                "--threads", str(threads), "--seconds", str(seconds), "--json"], cores)


def theirs(size, cores, threads, seconds, compiled):
    words = [rival.python(), str(HERE / "pytorch" / "gpt2.py"), *map(str, size), str(seconds), *(["compile"] if compiled else [])]
    return run(words, cores, threads)


def compare(name, size, threads, rounds, seconds, bars):
    cores = ",".join(map(str, range(threads)))
    ratios, best, figures = [], [], None
    for _ in range(rounds):
        figures = ours(size, cores, threads, seconds)
        ways = [theirs(size, cores, threads, seconds, compiled) for compiled in ([False, True] if rival.can_compile() else [False])]
        steps = min(ways, key=statistics.median)
        ratios.append(statistics.median(steps) * 1e3 / figures["step_ms"])
        best.append((min(steps) * 1e3, figures["best_step_ms"]))
    mine, other = min(b[1] for b in best), min(b[0] for b in best)
    print(f"{name}: {statistics.median(ratios):.2f} x PyTorch ({min(ratios):.2f} to {max(ratios):.2f}; fastest steps {mine:.0f} "
          f"against {other:.0f} ms: {other / mine:.2f} x), {figures['share_of_sgemm_peak'] * 100:.0f}% of the sgemm peak ({bars})")
    return figures


def generation(folder, text):
    subprocess.run([PROGRAM, "train", "gpt2", "--set", f"data.path={text}", "--set", "data.context=64", "--set", "data.validation=0",
                    "--set", "train.steps=1", "--set", "train.batch=1", "--out", f"{folder}/run", "--quiet"], check=True,
                   stdout=subprocess.DEVNULL)
    source = folder + "/read.cpp"
    pathlib.Path(source).write_text(READ)
    subprocess.run(["c++", "-O3", "-o", folder + "/read", source], check=True)
    shares = []
    for _ in range(3):
        memory = float(subprocess.run(["taskset", "-c", "0", folder + "/read"], check=True, capture_output=True, text=True).stdout)
        said = run([PROGRAM, "generate", f"{folder}/run", "--prompt", "Write", "--max-tokens", "60", "--temperature", "0", "--json"], "0")
        rate = said[0]["tokens_per_second"]
        shares.append((rate * 123653376 * 4 / memory, rate, memory))  # all weights except position embeddings
    share, rate, memory = sorted(shares)[1]
    print(f"generation, 124M, one core: {rate:.1f} tokens/s, {share * 100:.0f}% of the bound by memory bandwidth, {memory / 1e9:.1f} GB/s (must 75, aim 90)")


READ = """
#include <chrono>
#include <cstdio>
#include <vector>
int main() {
  std::vector<float> all(125000000, 1.0f);
  double best = 0;
  for (int round = 0; round < 6; ++round) {
    const auto start = std::chrono::steady_clock::now();
    float sums[64] = {};
    for (size_t i = 0; i + 64 <= all.size(); i += 64)
      for (int k = 0; k < 64; ++k) sums[k] += all[i + k];
    float sum = 0;
    for (float s : sums) sum += s;
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (sum > 0 && all.size() * 4 / took > best) best = all.size() * 4 / took;
  }
  std::printf("%f", best);
}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--text", default=str(HERE.parent / "README.md"), help="text to train the generating model on")
    options = parser.parse_args()
    rival.print_head("one thread per core", "eager or compiled, the faster one")
    compare("gpt2-shakespeare's step, one core", SMALL, 1, options.rounds, 3, "must 2, aim 4")
    figures = compare("GPT-2 124M, batch 4 x 64, AdamW, one core", LARGE, 1, options.rounds, 10, "must 1.1, aim 1.2")
    compare("the same, two cores", LARGE, 2, options.rounds, 8, "must 1.8, aim 2.2")
    least = 124439808 * 16
    print(f"peak memory of the 124M step: {figures['peak_memory_bytes'] / 1e6:.0f} MB, weights, gradients and Adam "
          f"+ {(figures['peak_memory_bytes'] / least - 1) * 100:.0f}% (must 25, aim 10)")
    with tempfile.TemporaryDirectory() as folder:
        generation(folder, options.text)


main()
