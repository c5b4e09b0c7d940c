#!/usr/bin/python3
"""Predicts steps of every preset, strategy and backend on this machine, runs them for real in turns, and
compares. Fails when the median error is above the bar. --write makes docs/validation.md from what it saw.

  bench/validate.py build/lockstep [--presets a,b] [--rounds 5] [--write docs/validation.md]
  bench/validate.py build/lockstep --rounds 2 --log ~/.cache/lockstep/validations.jsonl --since "2026-11-16 15:30"
                                        with what was logged since: a sweep that was interrupted, or to be continued
"""

import argparse
import datetime
import json
import statistics
import subprocess
import sys

PRESETS = ["cnn-690k", "simple-cnn", "mnist-cnn-sgd", "mlp-1", "mlp-3", "fashion-mlp", "fashion-mlp-adam",
           "iris-mlp", "iris-mlp-small-batch", "tweets-mlp-1", "tweets-mlp-3"]
STRATEGIES = "all-reduce,reduce-broadcast,parameter-server,scatter-gather"
MEDIAN_BAR, LARGEST_BAR = 0.05, 0.15


def validate(program, preset):
    words = [program, "simulate", preset, "--ranks", "1,2", "--strategy", STRATEGIES, "--backend", "threads,mpi",
             "--validate", "--rounds", "1", "--json", "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} failed: {done.stderr}")
    return json.loads(done.stdout)["cases"]


def add_round(rounds, case):
    rounds.setdefault(tuple(case[key] for key in ("name", "strategy", "backend", "ranks")), []).append(case)


def of_rounds(cases):
    """The middle round of both: each takes its quickest of as many measurements as runs."""
    predicted = statistics.median_low(c["predicted_step_seconds"] for c in cases)
    measured = statistics.median_low(c["measured_step_seconds"] for c in cases)
    return cases[0] | {"predicted_step_seconds": predicted, "measured_step_seconds": measured,
                       "error": predicted / measured - 1, "rounds": len(cases)}


def table(cases):
    lines = ["| preset | strategy | backend | ranks | simulated ms | measured ms | error |",
             "|---|---|---|---:|---:|---:|---:|"]
    for c in cases:
        lines.append(f"| {c['name']} | {c['strategy']} | {c['backend']} | {c['ranks']} "
                     f"| {c['predicted_step_seconds'] * 1e3:.4g} | {c['measured_step_seconds'] * 1e3:.4g} "
                     f"| {c['error'] * 100:+.1f}% |")
    return "\n".join(lines)


def misordered(cases):
    """Pairs of strategies whose measured steps differ by over 5% and whose predicted ones are the other way round."""
    wrong, pairs = [], 0
    for i, a in enumerate(cases):
        for b in cases[i + 1:]:
            if (a["name"], a["backend"], a["ranks"]) != (b["name"], b["backend"], b["ranks"]):
                continue
            quick, slow = sorted((a, b), key=lambda c: c["measured_step_seconds"])
            if slow["measured_step_seconds"] < 1.05 * quick["measured_step_seconds"]:
                continue
            pairs += 1
            if slow["predicted_step_seconds"] < quick["predicted_step_seconds"]:
                wrong.append(f"{a['name']} on {a['backend']}: {quick['strategy']} was quicker than {slow['strategy']}")
    return wrong, pairs


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("program")
    options.add_argument("--presets", default=",".join(PRESETS))
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--write", help="a Markdown page to make")
    options.add_argument("--log", help="rounds that 'simulate --validate' logged in this file count too ...")
    options.add_argument("--since", default="", help="... if made since this moment (UTC)")
    given = options.parse_args()
    rounds = {}
    for line in open(given.log) if given.log else []:
        case = json.loads(line)
        if case["when"] >= given.since and case["name"] in given.presets.split(","):
            add_round(rounds, case)
    for sweep in range(given.rounds):
        for preset in given.presets.split(","):
            print(f"round {sweep + 1} of {given.rounds}: {preset}", file=sys.stderr, flush=True)
            for case in validate(given.program, preset):
                add_round(rounds, case)
    cases = [of_rounds(one) for one in rounds.values()]
    print(table(cases))
    errors = sorted(abs(c["error"]) for c in cases)
    median, largest = statistics.median(errors), errors[-1]
    verdict = (f"{len(cases)} cases: median error {median * 100:.1f}% (bar {MEDIAN_BAR * 100:.0f}%), "
               f"largest {largest * 100:.1f}% (bar {LARGEST_BAR * 100:.0f}%), "
               f"{sum(e > LARGEST_BAR for e in errors)} above it")
    wrong, pairs = misordered(cases)
    verdict += (f". Of {pairs} pairs of strategies that differ by over 5%, {pairs - len(wrong)} are in the right order"
                + "".join(f"; {one}" for one in wrong))
    print(verdict)
    if given.write:
        with open(given.write, "w") as page:
            page.write(f"""# Predicted and measured

Made by `bench/validate.py build/lockstep --write docs/validation.md` on {datetime.date.today()}, on a shared virtual
machine of two cores. Steps of training with batches held in memory, undisturbed (the quickest fortieth), on this
machine: kernels were measured and real ranks run in turns, {min(c['rounds'] for c in cases)} to {max(c['rounds'] for c in cases)} rounds of each case. Both are the
middle one of their rounds (of two, the quicker).

{verdict}.

{table(cases)}
""")
    if median > MEDIAN_BAR:
        sys.exit(f"the median error of {median * 100:.1f}% is above the bar of {MEDIAN_BAR * 100:.0f}%")


if __name__ == "__main__":
    main()
