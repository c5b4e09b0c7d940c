#!/usr/bin/python3
"""Compares steps of real MPI ranks on 2 to 16 hosts with the predictions of 'lockstep simulate'. The hosts are parts of this
machine ('lockstep cluster up', needs root) with links of known bandwidth, so slow that several ranks per core do not matter; in
cases marked 'emulated' ranks sleep for the time of computing. Each case is appended to the ledger if one is given; the page has the
medians of all rounds in it. Fails if an error exceeds the bar for its number of hosts, or if two cases that differ by over 10% are
predicted in the wrong order.

  bench/validate_hosts.py build/lockstep [--hosts 2,4,8] [--only WORD] [--ledger FILE [--write docs/validation.md]]
"""

import argparse
import dataclasses
import datetime
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import hosts as emulated
import pages


@dataclasses.dataclass
class Case:
    hosts: int
    mbit: float
    preset: str
    strategy: str = "all-reduce"
    bucket_mb: float = 1
    compress: str = "none"
    emulate: bool = False
    per_host: int = 1
    leaf: int = 0          # hosts per switch of a tree; 0: a star
    uplink_mbit: float = 0
    links: str = ""        # "mixed": every other host has half the rate; "asymmetric": hosts send at half the rate
    straggler: float = 0   # speed of the last host
    batch: int = 0         # of all ranks together; 0: that of the preset, per rank

    def nodes(self):
        full, half = {"cores": self.per_host}, {"cores": self.per_host}
        if self.links == "mixed":
            half["bandwidth_gbit"] = self.mbit / 2000
            return [{"count": 1, **(half if i % 2 else full)} for i in range(self.hosts)]
        if self.links == "asymmetric":
            full["upload_gbit"] = self.mbit / 2000
        if self.straggler:
            return [{"count": self.hosts - 1, **full}, {"count": 1, **full, "speed": self.straggler}]
        return [{"count": self.hosts, **full}]

    def cluster(self):
        network = {"bandwidth_gbit": self.mbit / 1000}
        if self.leaf:
            network |= {"topology": '"tree"', "leaf": self.leaf, "uplink_gbit": self.uplink_mbit / 1000}
        return emulated.cluster_file(self.nodes(), network)

    def configuration(self):
        words = [self.preset]
        for key, value in {"strategy": self.strategy, "bucket_mb": self.bucket_mb, "compress": self.compress}.items():
            words += ["--set", f"parallel.{key}={value}"]
        if self.batch:
            words += ["--set", f"train.batch={self.batch}", "--set", "parallel.batch=global"]
        if self.strategy == "average-weights":
            words += ["--set", "parallel.average=steps"]
        return words

    def place(self):
        text = f"{self.hosts}" + (f" x {self.per_host}" if self.per_host > 1 else "") + f", {self.mbit:g}"
        if self.leaf:
            text += f", {self.leaf} per switch, uplinks {self.uplink_mbit:g}"
        if self.links:
            text += f", {self.links}"
        if self.straggler:
            text += f", one host at {self.straggler:g}"
        return text

    def what(self):
        text = self.strategy + (f", buckets of {self.bucket_mb:g} MB" if self.bucket_mb != 1 else "")
        text += f", {self.compress}" if self.compress != "none" else ""
        text += f", batch {self.batch} in all" if self.batch else ""
        return text + (" (emulated)" if self.emulate else "")


STRATEGIES = ["all-reduce", "reduce-broadcast", "parameter-server", "scatter-gather"]
CASES = [
    Case(2, 100, "cnn-690k"), Case(2, 1000, "cnn-690k"), Case(2, 100, "cnn-690k", bucket_mb=8), Case(2, 100, "cnn-690k", compress="bf16"),
    Case(2, 100, "mlp-3", "reduce-broadcast"), Case(2, 40, "mlp-1"), Case(2, 40, "mlp-1", "reduce-broadcast"),
    Case(3, 40, "mlp-1"), Case(3, 40, "mlp-1", "reduce-broadcast"), Case(3, 40, "mlp-1", "parameter-server"), Case(3, 40, "mlp-1", compress="fp16"),
    *(Case(4, 40, "mlp-1", strategy) for strategy in STRATEGIES), Case(4, 100, "mlp-1"), Case(4, 40, "mlp-1", compress="bf16"),
    Case(4, 40, "mlp-1", links="mixed"), Case(4, 40, "mlp-1", links="asymmetric"), Case(4, 40, "mlp-1", "average-weights"),
    Case(5, 30, "mlp-1"), Case(5, 30, "mlp-1", "parameter-server"), Case(6, 30, "simple-cnn"), Case(7, 20, "mlp-1"),
    Case(8, 20, "mlp-1"), Case(8, 20, "mlp-1", "reduce-broadcast"), Case(8, 20, "mlp-1", compress="bf16"),
    Case(6, 40, "mlp-1", leaf=3, uplink_mbit=40), Case(8, 40, "mlp-1", leaf=4, uplink_mbit=60),
    Case(8, 40, "mlp-1", "reduce-broadcast", leaf=4, uplink_mbit=60), Case(2, 100, "mlp-1", per_host=2), Case(3, 40, "mlp-1", per_host=2),
    Case(4, 100, "cnn-690k", emulate=True), Case(8, 100, "cnn-690k", emulate=True), Case(8, 100, "cnn-690k", bucket_mb=0.25, emulate=True),
    Case(4, 100, "cnn-690k", emulate=True, straggler=0.25), Case(6, 100, "simple-cnn", emulate=True),
    *(Case(hosts, 1000, "cnn-690k", "parameter-server", emulate=True, batch=2048) for hosts in (2, 3, 4, 5, 7)),
    Case(12, 10, "mlp-1"), Case(12, 20, "mlp-1", "reduce-broadcast"), Case(16, 10, "mlp-1"), Case(16, 50, "cnn-690k", emulate=True),
]
LARGEST = {count: 0.15 if count <= 8 else 0.20 for count in range(2, 17)}
MEDIAN_BAR = 0.06  # 2 to 8 hosts


def processor():
    found = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return found.group(1) if found else "unknown"


def predicted(program, folder, case):
    path = folder / "cluster.toml"
    path.write_text(case.cluster(), encoding="utf-8")
    done = subprocess.run([program, "simulate", *case.configuration(), "--cluster", path, "--ranks", str(case.hosts * case.per_host),
                           "--bench", "--json", "--quiet", "--force", "--out", folder / "run"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"simulate {case}: {done.stderr}")
    # Emulated computing sleeps for undisturbed times.
    return json.loads(done.stdout)["points"][-1]["undisturbed_step_seconds" if case.emulate else "step_seconds"]


def measured(hosts, case, seconds):
    text = hosts.lockstep("bench", *case.configuration(), "--seconds", seconds, "--json", *(["--emulate-compute"] if case.emulate else []))
    return json.loads(text[text.index("{\n"):])["step_ms"] / 1e3


def misordered(results):
    """Pairs that differ by over 10%, predicted in the wrong order: of host counts, strategies, bucket sizes, compressions and
    links. Pairs of emulated and real computing are not compared."""
    wrong, pairs = [], 0
    for i, a in enumerate(results):
        for b in results[i + 1:]:
            if any(a[key] != b[key] for key in ("preset", "mbit", "emulate", "batch")):
                continue
            fast, slow = sorted((a, b), key=lambda r: r["measured_ms"])
            if slow["measured_ms"] > 1.1 * fast["measured_ms"]:
                pairs += 1
                if slow["predicted_ms"] < fast["predicted_ms"]:
                    wrong.append((fast, slow))
    return wrong, pairs


def best_hosts(results, key):
    """Number of hosts beyond which more of them lose, where the batch of all ranks together is fixed."""
    series = [r for r in results if r["batch"]]
    return min(series, key=lambda r: r[key])["hosts"] if len(series) > 2 else None


def summary(results):
    few = [abs(r["error"]) for r in results if r["hosts"] <= 8]
    many = [abs(r["error"]) for r in results if r["hosts"] > 8]
    wrong, pairs = misordered(results)
    text = f"{len(results)} cases."
    if few:
        text += f" 2 to 8 hosts: median error {statistics.median(few) * 100:.1f}%, largest {max(few) * 100:.1f}%."
    if many:
        text += f" 12 and 16 hosts: largest {max(many) * 100:.1f}%."
    text += f" Of {pairs} pairs that differ by over 10%, {pairs - len(wrong)} are in the right order."
    if best_hosts(results, "measured_ms"):
        text += (f" With a fixed batch of 2048 and a parameter server, more than {best_hosts(results, 'measured_ms')} hosts were slower;"
                 f" predicted: {best_hosts(results, 'predicted_ms')}.")
    return text


def merged(ledger):
    """The cases of a ledger in the order of CASES: medians of their rounds."""
    rounds = {}
    for line in ledger.read_text(encoding="utf-8").splitlines():
        result = json.loads(line)
        rounds.setdefault((result["place"], result["preset"], result["what"]), []).append(result)
    results = []
    for case in CASES:
        known = rounds.get((case.place(), case.preset, case.what()))
        if known:
            said, real = (statistics.median(r[key] for r in known) for key in ("predicted_ms", "measured_ms"))
            results.append({**known[-1], "rounds": len(known), "predicted_ms": said, "measured_ms": real, "error": said / real - 1})
    return results


def page(results):
    lines = ["# Predicted and measured on many hosts", "", f"**{summary(results)}** The second part of this page is about one machine.", "",
             f"Made by `bench/validate_hosts.py build/lockstep --ledger FILE --write docs/validation.md` on {datetime.date.today()}, on two cores",
             f"({processor()}). Hosts are network namespaces of this machine (`lockstep cluster up`) with real MPI ranks and links of",
             "known bandwidth. Nothing was calibrated on them. In cases marked 'emulated' ranks sleep for the predicted time of computing, so",
             "that they do not share cores; then only communication is compared. Rates are in Mbit/s. Medians of the rounds of a case.", "",
             "| hosts, rate | network | strategy | simulated ms | measured ms | error | rounds |", "|---|---|---|---:|---:|---:|---:|"]
    lines += [f"| {r['place']} | {r['preset']} | {r['what']} | {r['predicted_ms']:.1f} | {r['measured_ms']:.1f} | {r['error'] * 100:+.1f}% "
              f"| {r['rounds']} |" for r in results]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--hosts", default="", help="numbers of hosts, all if not given")
    parser.add_argument("--only", default="", help="cases whose description contains this word")
    parser.add_argument("--ledger", type=pathlib.Path, help="file to which results are appended as JSON lines")
    parser.add_argument("--write", type=pathlib.Path, help="page to write, from all cases of the ledger")
    options = parser.parse_args()
    if options.write and not options.ledger:
        parser.error("--write makes the page from the ledger: give --ledger FILE too")
    wanted = [int(word) for word in options.hosts.split(",") if word]
    program = options.program.resolve()
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    results = []
    with tempfile.TemporaryDirectory() as name:
        for case in CASES:
            if (wanted and case.hosts not in wanted) or options.only not in f"{case.place()} {case.preset} {case.what()}":
                continue
            said = predicted(program, pathlib.Path(name), case)
            with emulated.Hosts(program, case.cluster()) as hosts:
                real = measured(hosts, case, max(3, 6 * said))
            results.append({"when": datetime.datetime.now().isoformat(timespec="seconds"), "version": version, "processor": processor(),
                            **dataclasses.asdict(case), "place": case.place(), "what": case.what(), "predicted_ms": said * 1e3,
                            "measured_ms": real * 1e3, "error": said / real - 1})
            print(f"{case.place():40} {case.preset:11} {case.what():40} simulated {said * 1e3:8.1f} ms  measured {real * 1e3:8.1f} ms  "
                  f"error {(said / real - 1) * 100:+5.1f}%", flush=True)
            if options.ledger:
                with open(options.ledger, "a", encoding="utf-8") as ledger:
                    ledger.write(json.dumps(results[-1]) + "\n")
    if not results:
        sys.exit("no case matches")
    print(summary(results))
    if options.write:
        pages.write_first(options.write, page(merged(options.ledger)))
    few = [abs(r["error"]) for r in results if r["hosts"] <= 8]
    missed = any(abs(r["error"]) > LARGEST[r["hosts"]] for r in results) or (few and statistics.median(few) > MEDIAN_BAR)
    return 1 if missed or misordered(results)[0] else 0


try:
    sys.exit(main())
except emulated.Unavailable as reason:
    sys.exit(f"validate_hosts.py: {reason}")
