#!/usr/bin/env python3
"""Runs every command of the README in an empty folder, in order: readme_commands.py PROGRAM

Networks train for one epoch on the shipped sample, so that this takes seconds. Each command must succeed and print
something.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Options added to a verb to make it faster.
SHORTER = {
    "train": ["--set", "data.name=mnist-sample", "--set", "train.epochs=1", "--quiet"],
    "simulate": ["--set", "data.name=mnist-sample", "--quiet"],
}


def commands():
    for block in re.findall(r"^```\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S):
        for line in block.splitlines():
            line = line.split("  #")[0].strip()
            if line.startswith("build/lockstep "):
                yield line.split()[1:]


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    found = list(commands())
    if len(found) < 10:
        sys.exit(f"only {len(found)} commands were found in the README: has its format changed?")
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "LOCKSTEP_DATA": folder + "/cache"}
        for words in found:
            more = [] if "--list" in words else SHORTER.get(words[0], [])
            if "--validate" in words:
                more = [*more, "--rounds", "1"]
            done = subprocess.run([program, *words, *more], cwd=folder, env=environment, capture_output=True, text=True, timeout=1000)
            print(f"{'ok' if done.returncode == 0 else done.returncode}: lockstep {' '.join(words)}", flush=True)
            if done.returncode != 0:
                sys.exit(done.stderr)
            if not done.stdout.strip():
                sys.exit("it printed nothing")


main()
