#!/usr/bin/python3
"""What parallel.compress does to accuracy: runs of two presets on two thread ranks, with several seeds. Fails if 16 bits change the
mean accuracy of cnn-690k by over 0.2 points, or the mean loss of gpt2-shakespeare by over 1%; top-k is reported.

  bench/compression.py build/lockstep [--seeds 3] [--write FILE]
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

KINDS = ["none", "bf16", "fp16", "top-k"]
# Preset, further settings, figure, factor, unit
CASES = [("cnn-690k", [], "test_accuracy", 100, "%"),
         ("gpt2-shakespeare", ["train.steps=300", "train.eval_every=0"], "validation_loss", 1, "")]


def trained(program, folder, preset, settings, kind, seed):
    words = [program, "train", preset, "--ranks", "2", "--backend", "threads", "--quiet", "--json", "--force", "--out", folder / "run",
             "--set", f"parallel.compress={kind}", "--set", f"seed={seed}"]
    for setting in settings:
        words += ["--set", setting]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{preset}, {kind}: {done.stderr}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--write", type=pathlib.Path, help="file for the table")
    options = parser.parse_args()
    lines = ["| | " + " | ".join(KINDS) + " |", "|---|" + "---:|" * len(KINDS)]
    missed = False
    with tempfile.TemporaryDirectory() as name:
        for preset, settings, figure, factor, unit in CASES:
            means, cells = {}, []
            for kind in KINDS:
                values = []
                for seed in range(1, options.seeds + 1):
                    values.append(trained(options.program.resolve(), pathlib.Path(name), preset, settings, kind, seed)[figure] * factor)
                    print(f"{preset:18} {kind:6} seed {seed}: {figure} {values[-1]:.4f}", flush=True)
                means[kind] = statistics.mean(values)
                cells.append(f"{means[kind]:.4g}{unit} ({min(values):.4g} to {max(values):.4g})")
            lines.append(f"| {preset}, {figure.replace('_', ' ')} | " + " | ".join(cells) + " |")
            for kind in ("bf16", "fp16"):
                change = abs(means[kind] - means["none"])
                missed |= change > (0.2 if unit else 0.01 * means["none"])
    print("\n".join(lines))
    if options.write:
        options.write.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 1 if missed else 0


sys.exit(main())
