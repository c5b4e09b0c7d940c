#!/usr/bin/env python3
"""Draws the modules and who sees whom, from CMakeLists.txt: docs/pictures/modules.py > docs/pictures/modules.svg"""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
ABOUT = {
    "base": "errors, TOML, random numbers, clocks", "os": "files, memory, threads, processes", "config": "one schema, presets",
    "comm": "messages and collectives between ranks",
    "tensor": "kernels on a device", "nn": "layers, parameters, programs", "optim": "updates, schedules",
    "text": "tokenizer", "generate": "text from a model", "data": "data sets, splits, batches",
    "parallel": "strategies", "train": "replica, trainer, run folder", "job": "starting and binding ranks", "cluster": "descriptions, emulated hosts",
    "report": "tables, figures, pages", "study": "grids of runs", "sim": "profiles, engines, predictions", "app": "verbs of the program",
}


def arrows():
    """Module -> modules it links."""
    found = {}
    for name, words in re.findall(r"^lockstep_module\((\w+)\s+([^)]*)\)", (ROOT / "CMakeLists.txt").read_text(), re.M):
        found[name] = re.findall(r"lockstep_(\w+)", words)
    found["app"] = ["study", "sim", "generate"]
    return found


def levels(links):
    depth = {}

    def of(name):
        if name not in depth:
            depth[name] = 1 + max([of(other) for other in links[name]], default=-1)
        return depth[name]

    for name in links:
        of(name)
    return depth


def main():
    links = arrows()
    depth = levels(links)
    rows = {}
    for name in links:
        rows.setdefault(depth[name], []).append(name)
    width, box, height, gap = 920, 168, 46, 34
    place = {}
    top = max(rows)
    for level, names in rows.items():
        space = width / len(names)
        for i, name in enumerate(names):
            place[name] = (space * (i + 0.5), 10 + (top - level) * (height + gap))
    total = 20 + (top + 1) * (height + gap)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {total}" font-family="sans-serif">',
           f'<rect width="{width}" height="{total}" fill="white"/>']
    for name, others in links.items():
        x, y = place[name]
        for other in others:
            u, v = place[other]
            out.append(f'<path d="M{x:.0f} {y + height} C{x:.0f} {y + height + gap} {u:.0f} {v - gap} {u:.0f} {v}" fill="none" stroke="#9aa5b1"/>')
    for name, (x, y) in place.items():
        out.append(f'<rect x="{x - box / 2:.0f}" y="{y}" width="{box}" height="{height}" rx="6" fill="#eef3f8" stroke="#4a6fa5"/>')
        out.append(f'<text x="{x:.0f}" y="{y + 19}" text-anchor="middle" font-size="15" font-weight="bold" fill="#1f2d3d">{name}</text>')
        words, lines = ABOUT[name].split(), [""]
        for word in words:
            if len(lines[-1]) + len(word) > 30:
                lines.append("")
            lines[-1] = (lines[-1] + " " + word).strip()
        for i, line in enumerate(lines[:2]):
            out.append(f'<text x="{x:.0f}" y="{y + 31 + 10 * i}" text-anchor="middle" font-size="9.5" fill="#3d4c5c">{line}</text>')
    out.append("</svg>")
    print("\n".join(out))


main()
