#!/usr/bin/python3
"""Repeats 'simulate --validate' on the machine as it is, then while another program is busy on it. Prints every error with
its label; errors of cases that are not labelled disturbed must stay below the bar.

  bench/validate_repeat.py build/lockstep [--network mlp-3] [--ranks 1,2] [--runs 10] [--bar 0.25]
"""

import argparse
import contextlib
import json
import subprocess
import sys


def cases_of(program, network, ranks):
    words = [program, "simulate", network, "--ranks", ranks, "--validate", "--json", "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} failed: {done.stderr}")
    return json.loads(done.stdout)["cases"]


@contextlib.contextmanager
def busy_program():
    program = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        program.kill()
        program.wait()


def repeat(title, given):
    """Errors of the cases that are not labelled disturbed, and the number of all cases."""
    unlabelled, count = [], 0
    for run in range(given.runs):
        for case in cases_of(given.program, given.network, given.ranks):
            count += 1
            label = f"disturbed: {case['disturbed_by']}" if case["disturbed"] else ""
            print(f"{title} {run + 1}: {case['ranks']} ranks, median {case['error'] * 100:+.1f}%, undisturbed "
                  f"{case['undisturbed_error'] * 100:+.1f}%  {label}", flush=True)
            if not case["disturbed"]:
                unlabelled += [abs(case["error"]), abs(case["undisturbed_error"])]
    return unlabelled, count


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("program")
    options.add_argument("--network", default="mlp-3")
    options.add_argument("--ranks", default="1,2")
    options.add_argument("--runs", type=int, default=10)
    options.add_argument("--bar", type=float, default=0.25)
    given = options.parse_args()
    quiet, quiet_count = repeat("as it is", given)
    with busy_program():
        busy, busy_count = repeat("one busy program", given)
    largest = 0
    for title, errors, count in (("as it is", quiet, quiet_count), ("one busy program", busy, busy_count)):
        if errors:
            largest = max(largest, max(errors))
        print(f"{title}: {len(errors) // 2} of {count} cases are not labelled disturbed"
              + (f"; largest error {max(errors) * 100:.1f}%" if errors else ""))
    if largest > given.bar:
        sys.exit(f"an error of {largest * 100:.1f}% is not labelled disturbed; the bar is {given.bar * 100:.0f}%")


if __name__ == "__main__":
    main()
