#!/usr/bin/python3
"""All-reduces between 2 to 16 hosts of slow links: the share of what the links allow, and MPI_Allreduce in turns. The hosts are
network namespaces of this machine (needs root). Fails if a share is below its bar.

  bench/collectives.py [--hosts 2,4,8] [--rounds 5] [--log FILE]
"""

import argparse
import datetime
import json
import pathlib
import sys

import hosts as emulated

BUILD = pathlib.Path(__file__).resolve().parent.parent / "build"
# Hosts, Mbit/s, megabytes
CASES = [(2, 1000, 16), (2, 100, 4), (2, 40, 1.6), (3, 40, 1.6), (4, 100, 8), (4, 40, 1.6), (5, 40, 1.6), (6, 40, 1.6), (8, 20, 1.6),
         (8, 40, 4), (12, 20, 1.6), (16, 20, 1.6)]
BARS = {2: 0.9, 3: 0.9, 4: 0.9, 5: 0.9, 6: 0.9, 8: 0.9, 12: 0.8, 16: 0.8}
FAST_BAR = 0.8  # at 1 Gbit/s


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", default="", help="numbers of hosts, all if not given")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--congestion", help="TCP congestion control of the hosts; if not given, this machine's")
    parser.add_argument("--log", help="file to which results are appended as JSON lines")
    options = parser.parse_args()
    wanted = [int(word) for word in options.hosts.split(",") if word]
    missed = 0
    print(f"{'hosts':>5} {'Mbit/s':>7} {'MB':>5} {'limit ms':>9} {'ours ms':>9} {'longest':>9} {'share':>6} {'bar':>5} "
          f"{'MPI_Allreduce':>14} {'gain':>6}")
    for count, rate, megabytes in CASES:
        if wanted and count not in wanted:
            continue
        floats = int(megabytes * 1e6 / 4)
        limit = 2 * (count - 1) / count * floats * 4 * 8 / (rate * 1e6 * emulated.ETHERNET_PAYLOAD) * 1e3
        with emulated.Hosts(BUILD / "lockstep", emulated.star_file(count, rate), options.congestion) as hosts:
            text = hosts.mpi_program(BUILD / "all_reduce", "both", floats, options.rounds)
        times = json.loads(text[text.index("{"):])
        ours, native = times["ours"], times["MPI_Allreduce"]
        share, bar = limit / ours["median_ms"], FAST_BAR if rate >= 1000 else BARS[count]
        missed += share < bar
        print(f"{count:5} {rate:7} {megabytes:5} {limit:9.1f} {ours['median_ms']:9.1f} {ours['longest_ms']:9.1f} {share:6.2f} {bar:5.2f} "
              f"{native['median_ms']:14.1f} {native['median_ms'] / ours['median_ms']:6.2f}", flush=True)
        if options.log:
            with open(options.log, "a", encoding="utf-8") as log:
                log.write(json.dumps({"when": datetime.datetime.now().isoformat(timespec="seconds"), "hosts": count, "mbit": rate,
                                      "megabytes": megabytes, "limit_ms": limit, **times}) + "\n")
    return 1 if missed else 0


try:
    sys.exit(main())
except emulated.Unavailable as reason:
    sys.exit(f"collectives.py: {reason}")
