#!/usr/bin/python3
"""Compares steps of real MPI ranks on 2 to 16 hosts with the predictions of 'lockstep simulate'. The hosts are network namespaces
of this machine with links of known bandwidth (needs root); the links are so slow that several ranks per core do not matter.
Results are appended to a ledger. Fails if an error exceeds the bar for its number of hosts, or if two cases that differ by over
10% are predicted in the wrong order.

  bench/validate_hosts.py build/lockstep [--hosts 2,4,8] [--ledger FILE]
"""

import argparse
import datetime
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import hosts as emulated

# Hosts, Mbit/s, preset, strategy, bucket in MB, compression
CASES = [
    (2, 100, "cnn-690k", "all-reduce", 1, "none"), (2, 1000, "cnn-690k", "all-reduce", 1, "none"), (2, 100, "cnn-690k", "all-reduce", 8, "none"),
    (2, 100, "mlp-3", "reduce-broadcast", 1, "none"), (2, 40, "mlp-1", "all-reduce", 1, "none"), (2, 40, "mlp-1", "reduce-broadcast", 1, "none"),
    (3, 40, "mlp-1", "all-reduce", 1, "none"), (3, 40, "mlp-1", "reduce-broadcast", 1, "none"), (3, 40, "mlp-1", "parameter-server", 1, "none"),
    (4, 40, "mlp-1", "all-reduce", 1, "none"), (4, 100, "mlp-1", "all-reduce", 1, "none"), (4, 40, "mlp-1", "reduce-broadcast", 1, "none"),
    (4, 40, "mlp-1", "parameter-server", 1, "none"), (4, 40, "mlp-1", "scatter-gather", 1, "none"), (5, 30, "mlp-1", "all-reduce", 1, "none"),
    (5, 30, "mlp-1", "parameter-server", 1, "none"), (6, 30, "simple-cnn", "all-reduce", 1, "none"), (7, 20, "mlp-1", "all-reduce", 1, "none"),
    (8, 20, "mlp-1", "all-reduce", 1, "none"), (8, 20, "mlp-1", "reduce-broadcast", 1, "none"), (12, 10, "mlp-1", "all-reduce", 1, "none"),
    (16, 10, "mlp-1", "all-reduce", 1, "none"), (2, 100, "cnn-690k", "all-reduce", 1, "bf16"),
    (4, 40, "mlp-1", "all-reduce", 1, "bf16"), (3, 40, "mlp-1", "all-reduce", 1, "fp16"), (8, 20, "mlp-1", "all-reduce", 1, "bf16")]
LARGEST = {count: 0.15 if count <= 8 else 0.20 for count in range(2, 17)}
MEDIAN_BAR = 0.06  # 2 to 8 hosts


def processor():
    found = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return found.group(1) if found else "unknown"


def cluster_text(count, rate):
    return f"""name = "{count} namespaces"
[node]
count = {count}
cores = 1
speed = 1.0
memory_gb = 8
[network]
bandwidth_gbit = {rate / 1000}
latency_us = 50
efficiency = {emulated.ETHERNET_PAYLOAD:.4f}
cpu_us_per_mb = 300
"""


def configuration(case):
    _, _, preset, strategy, bucket, compression = case
    return [preset, "--set", f"parallel.strategy={strategy}", "--set", f"parallel.bucket_mb={bucket}", "--set",
            f"parallel.compress={compression}"]


def predicted(program, folder, case):
    count, rate, *_ = case
    path = folder / "cluster.toml"
    path.write_text(cluster_text(count, rate))
    done = subprocess.run([program, "simulate", *configuration(case), "--cluster", path, "--ranks", str(count), "--bench", "--json",
                           "--quiet", "--force", "--out", folder / "run"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"simulate {case}: {done.stderr}")
    return json.loads(done.stdout)["points"][-1]["step_seconds"]


def measured(program, hosts, case, seconds):
    text = hosts.mpirun([program, "bench", *configuration(case), "--seconds", seconds, "--json"])
    return json.loads(text[text.index("{\n"):])["step_ms"] / 1e3


def misordered(results):
    """Pairs that differ by over 10%, predicted in the wrong order: of host counts, strategies, bucket sizes and
    compressions."""
    wrong, pairs = [], 0
    for i, a in enumerate(results):
        for b in results[i + 1:]:
            if a["preset"] != b["preset"] or a["mbit"] != b["mbit"]:
                continue
            fast, slow = sorted((a, b), key=lambda r: r["measured_ms"])
            if slow["measured_ms"] > 1.1 * fast["measured_ms"]:
                pairs += 1
                if slow["predicted_ms"] < fast["predicted_ms"]:
                    wrong.append((fast, slow))
    return wrong, pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--hosts", default="", help="numbers of hosts, all if not given")
    parser.add_argument("--ledger", help="file to which results are appended as JSON lines")
    options = parser.parse_args()
    wanted = [int(word) for word in options.hosts.split(",") if word]
    program = options.program.resolve()
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    results = []
    with tempfile.TemporaryDirectory() as name:
        for case in CASES:
            count, rate, preset, strategy, bucket, compression = case
            if wanted and count not in wanted:
                continue
            said = predicted(program, pathlib.Path(name), case)
            with emulated.star(count, rate) as hosts:
                real = measured(program, hosts, case, max(3, 6 * said))
            error = said / real - 1
            results.append({"when": datetime.datetime.now().isoformat(timespec="seconds"), "version": version,
                            "processor": processor(), "hosts": count, "mbit": rate, "preset": preset,
                            "strategy": strategy, "bucket_mb": bucket, "compress": compression, "predicted_ms": said * 1e3, "measured_ms": real * 1e3,
                            "error": error})
            print(f"{count:3} hosts {rate:5} Mbit/s  {preset:11} {strategy:17} buckets of {bucket} MB  {compression:4}  simulated {said * 1e3:8.1f} ms  "
                  f"measured {real * 1e3:8.1f} ms  error {error * 100:+5.1f}%", flush=True)
    if options.ledger:
        with open(options.ledger, "a", encoding="utf-8") as ledger:
            ledger.writelines(json.dumps(result) + "\n" for result in results)
    wrong, pairs = misordered(results)
    few = [abs(r["error"]) for r in results if r["hosts"] <= 8]
    print(f"{len(results)} cases; 2 to 8 hosts: median error {statistics.median(few) * 100:.1f}%, largest {max(few) * 100:.1f}%; "
          f"{pairs - len(wrong)} of {pairs} pairs in the right order" if few else f"{len(results)} cases")
    missed = any(abs(r["error"]) > LARGEST[r["hosts"]] for r in results) or (few and statistics.median(few) > MEDIAN_BAR)
    return 1 if missed or wrong else 0


try:
    sys.exit(main())
except emulated.Unavailable as reason:
    sys.exit(f"validate_hosts.py: {reason}")
