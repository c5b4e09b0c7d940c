"""docs/validation.md has two parts, which two programs write: predictions for many hosts, then for this machine."""

import pathlib

SECOND = "# Predicted and measured on one machine\n"


def parts(path):
    text = pathlib.Path(path).read_text(encoding="utf-8") if pathlib.Path(path).exists() else ""
    first, found, second = text.partition(SECOND)
    return first, found + second


def write_first(path, text):
    pathlib.Path(path).write_text(text.rstrip("\n") + "\n\n" + parts(path)[1], encoding="utf-8")


def write_second(path, text):
    pathlib.Path(path).write_text(parts(path)[0] + text, encoding="utf-8")
