#!/usr/bin/python3
"""Predicts steps of presets and other networks, strategies and backends on this machine, measures them in turn, and
compares median with median steps and undisturbed with undisturbed steps. Fails if the median error of undisturbed steps
is above the bar. --write makes docs/validation.md from the results. Run it on an idle machine.

  bench/validate.py build/lockstep [--presets a,b] [--rounds 5] [--write docs/validation.md]
  bench/validate.py build/lockstep --rounds 2 --log ~/.cache/lockstep/validations.jsonl --since "2026-11-16 15:30"
                                        adds the rounds logged since then, e.g. of an interrupted run
"""

import argparse
import datetime
import json
import pathlib
import statistics
import subprocess
import sys

import pages

PRESETS = ["cnn-690k", "simple-cnn", "mnist-cnn-sgd", "mlp-1", "mlp-3", "fashion-mlp-full-batch", "fashion-mlp-adam",
           "iris-mlp", "iris-mlp-small-batch", "tweets-mlp-1", "tweets-mlp-3"]
# Not used while the model was developed: networks that are not presets, and other batch sizes.
NETWORKS = sorted(str(path) for path in (pathlib.Path(__file__).parent / "networks").glob("*.toml"))
BATCHES = [("mlp-3", 200), ("cnn-690k", 48)]
STRATEGIES = "all-reduce,reduce-broadcast,parameter-server,scatter-gather"
MEDIAN_BAR, LARGEST_BAR = 0.05, 0.15
BAND_SHARE_AIM, BAND_WIDTH_AIM = 0.85, 0.12
KEY = ("name", "batch", "strategy", "backend", "ranks")


def validate(program, network, batch=None):
    words = [program, "simulate", network, "--ranks", "1,2", "--strategy", STRATEGIES, "--backend", "threads,mpi",
             "--validate", "--rounds", "1", "--json", "--quiet"]
    if batch:
        words += ["--set", f"train.batch={batch}"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} failed: {done.stderr}")
    return json.loads(done.stdout)["cases"]


def add_round(rounds, case):
    rounds.setdefault(tuple(case[key] for key in KEY), []).append(case)


def of_rounds(cases):
    """Medians over the rounds, of undisturbed ones if there are any."""
    quiet = [c for c in cases if not c["disturbed"]]
    used = quiet or cases

    def middle(key):
        return statistics.median_low(c[key] for c in used)

    case = used[0] | {key: middle(key) for key in (
        "predicted_step_seconds", "measured_step_seconds", "predicted_undisturbed_step_seconds",
        "measured_undisturbed_step_seconds")}
    of_middle = next(c for c in used if c["predicted_step_seconds"] == case["predicted_step_seconds"])
    low, high = of_middle["step_seconds_low"], of_middle["step_seconds_high"]
    return case | {"error": case["predicted_step_seconds"] / case["measured_step_seconds"] - 1,
                   "undisturbed_error": (case["predicted_undisturbed_step_seconds"]
                                         / case["measured_undisturbed_step_seconds"] - 1),
                   "step_seconds_low": low, "step_seconds_high": high,
                   "in_band": low <= case["measured_step_seconds"] <= high,
                   "band_width": (high - low) / 2 / case["predicted_step_seconds"],
                   "disturbed": not quiet, "rounds": len(used)}


def table(cases):
    lines = ["| network | batch | strategy | backend | ranks | simulated ms (band) | measured ms | error "
             "| simulated undisturbed | measured | error | |",
             "|---|---:|---|---|---:|---:|---:|---:|---:|---:|---:|---|"]
    for c in cases:
        mark = "disturbed" if c["disturbed"] else "" if c["in_band"] else "outside its band"
        lines.append(
            f"| {c['name']} | {c['batch'] or 'all'} | {c['strategy']} | {c['backend']} | {c['ranks']} "
            f"| {c['predicted_step_seconds'] * 1e3:.4g} ({c['step_seconds_low'] * 1e3:.4g} to "
            f"{c['step_seconds_high'] * 1e3:.4g}) | {c['measured_step_seconds'] * 1e3:.4g} | {c['error'] * 100:+.1f}% "
            f"| {c['predicted_undisturbed_step_seconds'] * 1e3:.4g} "
            f"| {c['measured_undisturbed_step_seconds'] * 1e3:.4g} | {c['undisturbed_error'] * 100:+.1f}% | {mark} |")
    return "\n".join(lines)


def misordered(cases):
    """Pairs of strategies whose undisturbed steps differ by over 5%: those predicted in the wrong order, and their number."""
    wrong, pairs = [], 0
    for i, a in enumerate(cases):
        for b in cases[i + 1:]:
            if any(a[key] != b[key] for key in ("name", "batch", "backend", "ranks")):
                continue
            fast, slow = sorted((a, b), key=lambda c: c["measured_undisturbed_step_seconds"])
            if slow["measured_undisturbed_step_seconds"] < 1.05 * fast["measured_undisturbed_step_seconds"]:
                continue
            pairs += 1
            if slow["predicted_undisturbed_step_seconds"] < fast["predicted_undisturbed_step_seconds"]:
                wrong.append(f"{a['name']} on {a['backend']}: {fast['strategy']} was faster than {slow['strategy']}")
    return wrong, pairs


def summary(cases):
    """Sentences about cases of one kind; disturbed ones do not count."""
    quiet = [c for c in cases if not c["disturbed"]]
    left_out = len(cases) - len(quiet)
    text = f"{len(quiet)} cases"
    if left_out:
        text += f" ({left_out} more were measured while the machine was busy and are not counted)"
    if not quiet:
        return text + "."
    medians = sorted(abs(c["error"]) for c in quiet)
    undisturbed = sorted(abs(c["undisturbed_error"]) for c in quiet)
    share = sum(c["in_band"] for c in quiet) / len(quiet)
    width = statistics.median(c["band_width"] for c in quiet)
    return (f"{text}. Median steps: median error {statistics.median(medians) * 100:.1f}%, largest "
            f"{medians[-1] * 100:.1f}%. Undisturbed steps: median error {statistics.median(undisturbed) * 100:.1f}% "
            f"(bar {MEDIAN_BAR * 100:.0f}%), largest {undisturbed[-1] * 100:.1f}% (bar {LARGEST_BAR * 100:.0f}%). "
            f"{share * 100:.0f}% of the measured medians are within the predicted band (aim "
            f"{BAND_SHARE_AIM * 100:.0f}%), whose half width has a median of {width * 100:.0f}% (aim "
            f"{BAND_WIDTH_AIM * 100:.0f}%).")


def page_of(cases):
    outside = [c for c in cases if c["out_of_sample"]]
    inside = [c for c in cases if not c["out_of_sample"]]
    wrong, pairs = misordered([c for c in cases if not c["disturbed"]])
    order = (f"Of {pairs} pairs of strategies that differ by over 5%, {pairs - len(wrong)} are in the right order"
             + "".join(f"; {one}" for one in wrong) + ".")
    rounds = [c["rounds"] for c in cases]
    return f"""{pages.SECOND}
**Out of sample**: {summary(outside)}

{order}

Made by `bench/validate.py build/lockstep --write docs/validation.md` on {datetime.date.today()}, on a virtual machine of
two cores. Steps of training with batches held in memory. Kernels and real ranks were measured in turn, {min(rounds)} to
{max(rounds)} rounds of each case; the median of its rounds counts. A prediction states the median step to expect with a
band that is meant to hold 90% of measured medians, and the undisturbed step (the fastest fortieth).

## Out of sample

Strategy, backend and number of ranks were not part of what calibration measured: it knows the network's kernels, and
messages between two ranks. Networks from `bench/networks` and batches other than the presets' were not used while the
model was developed either.

{table(outside)}

## Steps that calibration measured itself

Steps of one rank. {summary(inside)}

{table(inside)}
"""


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("program")
    options.add_argument("--presets", help="only these presets, without other networks and batches")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--write", help="write the page to this Markdown file")
    options.add_argument("--log", help="add the rounds that 'simulate --validate' logged in this file")
    options.add_argument("--since", default="", help="with --log: only rounds since this time (UTC)")
    given = options.parse_args()
    what = ([(preset, None) for preset in given.presets.split(",")] if given.presets else
            [(network, None) for network in PRESETS + NETWORKS] + BATCHES)
    rounds = {}
    for line in open(given.log) if given.log else []:
        case = json.loads(line)
        if case["when"] >= given.since and "undisturbed_error" in case:
            add_round(rounds, case)
    for sweep in range(given.rounds):
        for network, batch in what:
            print(f"round {sweep + 1} of {given.rounds}: {network} {batch or ''}", file=sys.stderr, flush=True)
            for case in validate(given.program, network, batch):
                add_round(rounds, case)
    cases = [of_rounds(one) for one in rounds.values()]
    page = page_of(cases)
    print(page)
    if given.write:
        pages.write_second(given.write, page)
    errors = [abs(c["undisturbed_error"]) for c in cases if c["out_of_sample"] and not c["disturbed"]]
    if not errors:
        sys.exit("no case out of sample was measured without a disturbance; repeat it on an idle machine")
    if statistics.median(errors) > MEDIAN_BAR:
        sys.exit(f"the median error out of sample, {statistics.median(errors) * 100:.1f}%, is above the bar of "
                 f"{MEDIAN_BAR * 100:.0f}%")


if __name__ == "__main__":
    main()
