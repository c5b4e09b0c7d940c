#!/usr/bin/python3
"""Kills trainings at random moments, resumes them, and compares them with undisturbed runs.

    bench/faults.py PROGRAM [--kills 200] [--disks 12] [--flips 100] [--seed 1]

Every resumed run must end with the same bytes of weights and with every step in metrics.jsonl exactly once; no process and
no shared memory may be left; a full disk must be a clear failure; every flipped bit of a model or checkpoint must be detected.
The exit code is 1 if one of these does not hold.
"""
import argparse
import fcntl
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CONFIG = """
name = "victim"
[model]
layers = ["dense 64 relu", "dropout 0.2", "dense 10"]
[data]
name = "mnist-sample"
limit = 600
[train]
epochs = 12
batch = 30
checkpoint_every = 15
log_every = 1
[parallel]
batch = "global"
timeout = 20
"""
# Options for which the weights do not depend on the timing of ranks.
WAYS = [[], ["--ranks", "2", "--backend", "threads"], ["--ranks", "2", "--backend", "mpi"],
        ["--ranks", "3", "--backend", "threads", "--set", "parallel.strategy=average-weights"],
        ["--ranks", "3", "--backend", "threads", "--set", "parallel.strategy=parameter-server"]]

complaints = []


def complain(text):
    complaints.append(text)
    print(text, flush=True)


def run(words, folder, **more):
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120, **more)


def weights(run_folder):
    return (run_folder / "model" / "model.safetensors").read_bytes()


def check_metrics(run_folder, name):
    steps = {}
    for line in (run_folder / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        if "train/loss" in record:
            steps[record["train/global_step"]] = steps.get(record["train/global_step"], 0) + 1
    wrong = [s for s in range(1, 241) if steps.get(s) != 1]
    if wrong:
        complain(f"{name}: {len(wrong)} steps are not in metrics.jsonl exactly once, the first {wrong[0]}")


def processes_in(folder):
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and pathlib.Path(os.readlink(entry / "cwd")) == folder:
                found.append(entry.name)
        except OSError:
            pass
    return found


def is_abandoned(folder):
    """Whether no job uses the folder: a job locks its folder as long as it runs."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return False  # already removed
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def abandoned_memory():
    folder = pathlib.Path("/dev/shm")
    return {p.name for p in folder.glob("lockstep-ranks-*") if is_abandoned(p)} | {p.name for p in folder.glob("vader_*")}


def has_checkpoint(run_folder):
    return any(run_folder.glob("checkpoints/step-*/digests.txt"))


class Campaign:
    def __init__(self, program, folder, seed):
        self.program, self.folder = str(pathlib.Path(program).resolve()), pathlib.Path(folder).resolve()
        self.random = random.Random(seed)
        (self.folder / "victim.toml").write_text(CONFIG)
        self.whole = {}

    def undisturbed(self, way):
        """Weights and duration of an undisturbed run."""
        if way not in self.whole:
            start = time.monotonic()
            out = self.folder / f"whole-{way}"
            done = run([self.program, "train", "victim.toml", "--quiet", "--out", str(out), *WAYS[way]], self.folder)
            if done.returncode != 0:
                raise SystemExit(f"an undisturbed run failed: {done.stderr}")
            self.whole[way] = (weights(out), time.monotonic() - start)
        return self.whole[way]

    def kill(self, number):
        """One run, killed a few times at random moments, until it ends. Returns the number of kills."""
        way = self.random.randrange(len(WAYS))
        expected, seconds = self.undisturbed(way)
        out, name, kills = self.folder / "run", f"run {number} ({' '.join(WAYS[way]) or 'one rank'})", 0
        shutil.rmtree(out, ignore_errors=True)
        before = abandoned_memory()
        for _ in range(20):
            resumes = has_checkpoint(out)
            words = ["train", "--resume", str(out), "--quiet"] if resumes else ["train", "victim.toml", "--quiet", "--out", str(out), "--force", *WAYS[way]]
            process = subprocess.Popen([self.program, *words], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            last, began, accepted = kills >= self.random.randrange(1, 4), time.monotonic(), [0, -signal.SIGKILL]
            if not last:
                time.sleep(self.random.random() * seconds)
                what = self.random.choice([signal.SIGKILL] * 4 + [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
                if process.poll() is None:
                    process.send_signal(what)
                    kills += 1
                    if time.monotonic() - began < 0.05:  # before the program listens for signals
                        accepted.append(-what)
            try:
                error = process.communicate(timeout=60)[1]
            except subprocess.TimeoutExpired:
                process.kill()
                complain(f"{name}: hangs")
                return kills
            for _ in range(100):  # ranks of a killed mpiexec end by themselves
                if not processes_in(self.folder):
                    break
                time.sleep(0.1)
            if left := processes_in(self.folder):
                complain(f"{name}: processes {left} were left")
                for pid in left:
                    os.kill(int(pid), signal.SIGKILL)
            if process.returncode not in accepted and "is finished" not in error:
                complain(f"{name}: exit code {process.returncode}: {error.strip()}")
                return kills
            summary = out / "summary.json"
            if summary.exists() and json.loads(summary.read_text())["ending"] == "finished":
                break
        else:
            complain(f"{name}: not finished after 20 starts; the last said: {error.strip()}")
            return kills
        if weights(out) != expected:
            complain(f"{name}: different weights after {kills} kills")
        check_metrics(out, name)
        if "mpi" in WAYS[way]:  # the next job removes what a killed one could not
            run([self.program, "train", "victim.toml", "--quiet", "--out", str(self.folder / "sweeper"), "--force", "--set", "train.epochs=1", *WAYS[way]], self.folder)
        more = abandoned_memory() - before
        for _ in range(50):  # other jobs may be about to lock or remove their folders
            if not more:
                break
            time.sleep(0.1)
            more &= abandoned_memory()
        if more:
            complain(f"{name}: shared memory {sorted(more)} was left")
        return kills

    def full_disk(self, number):
        """A file that reaches a random size limit must be a clear failure, and leave no summary."""
        size, out = self.random.randrange(1, 400), self.folder / "full"
        shutil.rmtree(out, ignore_errors=True)
        done = run(["bash", "-c", f"trap '' XFSZ; ulimit -f {size}; exec \"$0\" train victim.toml --quiet --out '{out}'", self.program], self.folder)
        if done.returncode not in (0, 1) or (done.returncode == 1 and "cannot write" not in done.stderr):
            complain(f"disk {number} of {size} KB: exit code {done.returncode}: {done.stderr.strip()}")
        if done.returncode == 1 and (out / "summary.json").exists():
            complain(f"disk {number} of {size} KB: a summary was left")

    def flip(self, number):
        """Flips one bit of a model or of the newest checkpoint; verify and eval must detect it."""
        out = self.folder / "flipped"
        if not out.exists():
            run([self.program, "train", "victim.toml", "--quiet", "--out", str(out), "--set", "train.checkpoint_every=50"], self.folder)
        newest = max(out.glob("checkpoints/step-*"), key=lambda p: int(p.name[5:]))
        file = self.random.choice([out / "model" / "model.safetensors", newest / "rank-0.safetensors", newest / "checkpoint.json"])
        good = file.read_bytes()
        at = self.random.randrange(len(good) * 8)
        file.write_bytes(good[: at // 8] + bytes([good[at // 8] ^ 1 << at % 8]) + good[at // 8 + 1:])
        verified = run([self.program, "verify", str(out)], self.folder)
        if verified.returncode != 1 or "DAMAGED" not in verified.stdout:
            complain(f"flip {number}: bit {at} of {file.name} was not detected by verify")
        if file.parent.name == "model" and run([self.program, "eval", str(out)], self.folder).returncode != 2:
            complain(f"flip {number}: bit {at} of {file.name} was not detected by eval")
        file.write_bytes(good)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--disks", type=int, default=12)
    parser.add_argument("--flips", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(options.program, folder, options.seed)
        kills = runs = 0
        while kills < options.kills:
            runs += 1
            kills += campaign.kill(runs)
        for number in range(options.disks):
            campaign.full_disk(number + 1)
        for number in range(options.flips):
            campaign.flip(number + 1)
    print(f"{kills} signals in {runs} runs, {options.disks} full disks, {options.flips} flipped bits: {len(complaints)} complaints")
    sys.exit(1 if complaints else 0)


main()
