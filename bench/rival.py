"""Finds and describes the PyTorch that benchmarks compare with.

`./run bench` makes a virtual environment with a current PyTorch if pip can install one, else it installs Debian's with
OpenBLAS. Reference BLAS multiplies matrices ten times slower and is refused.
"""
import functools
import json
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
# Large arrays stay in the heap: PyTorch frees and allocates them again in every step.
TUNED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "200000000000", "MALLOC_TOP_PAD_": "67108864"}

DESCRIBE = """
import json, re, time, torch
torch.set_num_threads(1)
blas = re.search(r"BLAS_INFO=(\\w+)", torch.__config__.show())
a = torch.randn(768, 768)
times = []
for _ in range(8):
    start = time.perf_counter()
    a @ a
    times.append(time.perf_counter() - start)
print(json.dumps({"version": torch.__version__, "blas": blas.group(1) if blas else "unknown",
                  "gflops": 2 * 768 ** 3 / min(times) / 1e9}))
"""


def environment_folder():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(os.environ.get("LOCKSTEP_RIVAL") or pathlib.Path(cache) / "lockstep" / "pytorch")


@functools.cache
def python():
    own = environment_folder() / "bin" / "python"
    for candidate in (own, pathlib.Path("/usr/bin/python3")):
        if candidate.exists() and subprocess.run([candidate, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode == 0:
            return str(candidate)
    raise SystemExit("no PyTorch to compare with: ./run bench installs one")


@functools.cache
def description():
    out = subprocess.run([python(), "-c", DESCRIBE], check=True, capture_output=True, text=True,
                         env={**os.environ, "OMP_NUM_THREADS": "1"}).stdout
    return json.loads(out)


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown processor"


def print_head(threads, layout):
    """Prints what a table compares with. Exits if PyTorch has no optimised BLAS."""
    rival = description()
    # An AVX2 core reaches 50 or more; reference BLAS 2 to 5.
    if rival["gflops"] < 15:
        raise SystemExit(f"PyTorch {rival['version']} multiplies matrices at {rival['gflops']:.1f} GFLOP/s: that is reference BLAS, "
                         "which makes every ratio look better than it is; install libopenblas0-pthread")
    print(f"against PyTorch {rival['version']} ({rival['blas']}, {rival['gflops']:.0f} GFLOP/s in a product of 768 x 768), {threads}, {layout}, "
          f"tuned malloc; {processor()}, {os.cpu_count()} cores", flush=True)


@functools.cache
def can_compile():
    """Whether torch.compile works here: it needs PyTorch 2 and a C++ compiler."""
    test = "import torch; f = torch.compile(lambda x: x * 2 + 1); f(torch.ones(4))"
    return int(description()["version"].split(".")[0]) >= 2 and subprocess.run(
        [python(), "-c", test], capture_output=True, timeout=300).returncode == 0
