#!/usr/bin/env python3
"""Runs a command on a terminal of its own and draws what it left there as SVG.

    docs/pictures/terminal.py docs/pictures/train.svg build/lockstep train cnn-690k --threads 2
"""
import html
import os
import pty
import re
import sys

COLUMNS, SIZE, LINE = 104, 13, 18
COLOURS = {"36": "#56b6c2", "2": "#4b5263"}


def record(command):
    """All that the command wrote to its terminal."""
    chunks = []

    def read(descriptor):
        data = os.read(descriptor, 65536)
        chunks.append(data)
        return data

    os.environ.update(TERM="xterm-256color", COLUMNS=str(COLUMNS))
    os.environ.pop("NO_COLOR", None)
    status = pty.spawn(command, read)
    if status != 0:
        raise SystemExit(f"{command} ended with {status}")
    return b"".join(chunks).decode()


def screen(text):
    """The lines that stay: carriage return and 'erase line' overwrite."""
    lines = []
    for line in text.replace("\r\n", "\n").split("\n"):
        kept = line.split("\r")[-1] if "\r" in line else line
        lines.append(kept.replace("\x1b[K", ""))
    return lines


def spans(line):
    colour = "#abb2bf"
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        found = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if found:
            colour = COLOURS.get(found.group(1), "#abb2bf")
        elif part:
            yield f'<tspan fill="{colour}">{html.escape(part)}</tspan>'


def main():
    target, command = sys.argv[1], sys.argv[2:]
    shown = "$ " + " ".join([os.path.basename(command[0]), *command[1:]])
    lines = [shown, *screen(record(command))]
    while lines and not lines[-1].strip():
        lines.pop()
    width, height = int(COLUMNS * SIZE * 0.61) + 32, len(lines) * LINE + 32
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{SIZE}">',
           f'<rect width="{width}" height="{height}" rx="8" fill="#282c34"/>']
    for i, line in enumerate(lines):
        out.append(f'<text x="16" y="{30 + i * LINE}" xml:space="preserve">{"".join(spans(line))}</text>')
    out.append("</svg>\n")
    with open(target, "w") as file:
        file.write("\n".join(out))


main()
