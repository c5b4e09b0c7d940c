#!/usr/bin/env python3
"""Makes problems.csv: small programming problems with solutions in Python, for language models. python3 make_problems.py"""
import csv
import itertools
import pathlib
import random

REDUCE = {
    "sum": ("sum({})", "0"), "product": ("math.prod({})", "1"), "number": ("len({})", "0"), "largest": ("max({}, default=None)", "None"),
    "smallest": ("min({}, default=None)", "None"), "mean": ("sum({0}) / len({0}) if {0} else None", "None"), "last": ("{0}[-1] if {0} else None", "None"),
}
KEEP = {
    "even": "x % 2 == 0", "odd": "x % 2 == 1", "positive": "x > 0", "negative": "x < 0", "square": "math.isqrt(abs(x)) ** 2 == x",
    **{f"divisible by {n}": f"x % {n} == 0" for n in range(3, 10)}, **{f"greater than {n}": f"x > {n}" for n in (5, 10, 20, 50, 100)},
    **{f"less than {n}": f"x < {n}" for n in (5, 10, 20, 50, 100)},
}
KIND = ("list", "tuple", "set")


def problem(what, kept, kind):
    expression, _ = REDUCE[what]
    place = "after" if " " in kept else "before"
    numbers = f"numbers {kept}" if place == "after" else f"{kept} numbers"
    of = "" if what in ("largest", "smallest", "last") else " of"
    text = f"Write a function to find the {what}{of}{' of the' if not of else ''} {numbers} in a {kind}."
    name = f"{what}_of_{kept.replace(' ', '_')}"
    code = f"def {name}(numbers):\n    kept = [x for x in numbers if {KEEP[kept]}]\n    return {expression.format('kept')}"
    if "math." in code:
        code = "import math\n" + code
    values = list(range(-3, 12, 2))
    scope = {}
    exec(code, scope)
    return text, code, f"assert {name}({values}) == {scope[name](values)!r}"


rows = [problem(*one) for one in itertools.product(REDUCE, KEEP, KIND)]
random.Random(1).shuffle(rows)
parts = ["train"] * 384 + ["valid"] * 48 + ["test"] * 30
with pathlib.Path(__file__).with_name("problems.csv").open("w", newline="") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["id", "split", "problem", "solution", "input"])
    for number, (part, row) in enumerate(zip(parts, rows), 1):
        writer.writerow([number, part, *row])
