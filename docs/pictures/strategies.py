#!/usr/bin/env python3
"""Draws who sends what when, one picture a strategy: docs/pictures/<strategy>.svg."""
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
LANE, LEFT, UNIT, TOP = 44, 86, 56, 26
COLORS = {"forward": "#8ecae6", "backward": "#219ebc", "update": "#90be6d", "wait": "#e9ecef", "message": "#e76f51", "average": "#f4a261"}


class Picture:
    def __init__(self, name, lanes, length):
        self.name, self.lanes, self.length, self.parts = name, lanes, length, []

    def y(self, lane):
        return TOP + lane * LANE

    def box(self, lane, start, end, kind, text=""):
        x, width = LEFT + start * UNIT, (end - start) * UNIT
        self.parts.append(f'<rect x="{x:.1f}" y="{self.y(lane)}" width="{width:.1f}" height="22" rx="3" fill="{COLORS[kind]}" stroke="#495057" stroke-width="0.5"/>')
        if text:
            self.parts.append(f'<text x="{x + width / 2:.1f}" y="{self.y(lane) + 15}" text-anchor="middle" class="box">{text}</text>')

    def arrow(self, lane, at, to, until, text=""):
        down = to > lane
        x1, y1 = LEFT + at * UNIT, self.y(lane) + (22 if down else 0)
        x2, y2 = LEFT + until * UNIT, self.y(to) + (0 if down else 22)
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1}" x2="{x2:.1f}" y2="{y2}" stroke="{COLORS["message"]}" stroke-width="1.6" marker-end="url(#head)"/>')
        if text:
            self.parts.append(f'<text x="{(x1 + x2) / 2 + 5:.1f}" y="{(y1 + y2) / 2 + 4:.1f}" class="small">{text}</text>')

    def note(self, at, text):
        self.parts.append(f'<text x="{LEFT + at * UNIT:.1f}" y="14" class="small">{text}</text>')

    def save(self):
        width, height = LEFT + self.length * UNIT + 12, TOP + len(self.lanes) * LANE + 6
        names = "".join(f'<text x="6" y="{self.y(i) + 15}" class="lane">{lane}</text>' for i, lane in enumerate(self.lanes))
        style = ("text{font-family:Helvetica,Arial,sans-serif;fill:#212529}.lane{font-size:12px;font-weight:bold}"
                 ".box{font-size:10px}.small{font-size:10px;fill:#495057;paint-order:stroke;stroke:white;stroke-width:3px}")
        head = f'<marker id="head" markerWidth="7" markerHeight="7" refX="6" refY="3" orient="auto"><path d="M0,0 L6,3 L0,6 z" fill="{COLORS["message"]}"/></marker>'
        (HERE / f"{self.name}.svg").write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}">'
            f'<style>{style}</style><defs>{head}</defs><rect width="100%" height="100%" fill="white"/>{names}{"".join(self.parts)}</svg>\n')


RANKS = ["rank 0", "rank 1", "rank 2"]


def all_reduce():
    p = Picture("all-reduce", RANKS, 9)
    p.note(0, "a step: buckets of gradients are summed over all ranks while earlier layers still compute theirs")
    for lane in range(3):
        p.box(lane, 0, 2, "forward", "forward")
        for i, text in enumerate(("backward 3", "backward 2", "backward 1")):
            p.box(lane, 2 + 1.4 * i, 3.4 + 1.4 * i, "backward", text)
        p.box(lane, 6.7, 7.5, "update", "update")
    for i in range(3):
        at = 3.4 + 1.4 * i
        for a, b in ((0, 1), (1, 2)):
            p.arrow(a, at, b, at + 0.35)
            p.arrow(b, at + 0.2, a, at + 0.55)
    p.save()


def reduce_broadcast():
    p = Picture("reduce-broadcast", RANKS, 9)
    p.note(0, "a step: all gradients go to rank 0, the sum comes back; nothing is hidden")
    for lane in range(3):
        p.box(lane, 0, 1.8, "forward", "forward")
        p.box(lane, 1.8, 4.2, "backward", "backward")
        p.box(lane, 7.2, 8, "update", "update")
    for lane in (1, 2):
        p.arrow(lane, 4.2, 0, 4.2 + 0.6 * lane, "gradients" if lane == 1 else "")
        p.arrow(0, 5.6, lane, 5.6 + 0.6 * lane, "sum" if lane == 1 else "")
    p.save()


def parameter_server():
    p = Picture("parameter-server", ["worker 0", "server", "worker 1"], 9.5)
    p.note(0, "asynchronous: each push is an update of its own; the next push of the other worker is one update stale")
    p.box(0, 0, 2.2, "backward", "gradients")
    p.box(2, 0, 3.4, "backward", "gradients")
    p.arrow(0, 2.2, 1, 2.6, "push")
    p.box(1, 2.6, 3.2, "update", "update")
    p.arrow(1, 3.2, 0, 3.6, "weights")
    p.arrow(2, 3.4, 1, 4.0)
    p.box(1, 4.0, 4.6, "update", "update")
    p.arrow(1, 4.6, 2, 4.9)
    p.box(0, 3.6, 5.8, "backward", "gradients")
    p.box(2, 4.9, 8.3, "backward", "gradients")
    p.arrow(0, 5.8, 1, 6.2)
    p.box(1, 6.2, 6.8, "update", "update")
    p.arrow(1, 6.8, 0, 7.2)
    p.box(0, 7.2, 9.4, "backward", "gradients")
    p.arrow(2, 8.3, 1, 8.6)
    p.box(1, 8.6, 9.2, "update", "update")
    p.save()


def average_weights():
    p = Picture("average-weights", RANKS, 9)
    p.note(0, "every rank trains alone on its part; now and then all take the mean of their weights")
    for lane, lengths in enumerate(((1.0, 1.1, 1.0), (1.1, 1.2, 1.1), (1.0, 1.0, 1.2))):
        at = 0
        for i, length in enumerate(lengths):
            p.box(lane, at, at + length, "backward", f"step {i + 1}")
            at += length
        p.box(lane, at, 3.5, "wait")
        p.box(lane, 3.5, 4.6, "average", "mean")
        for i in range(3):
            p.box(lane, 4.6 + 1.1 * i, 5.7 + 1.1 * i, "backward", f"step {i + 4}")
    for a, b in ((0, 1), (1, 2)):
        p.arrow(a, 3.8, b, 4.1)
        p.arrow(b, 4.0, a, 4.3)
    p.save()


def average_gradients():
    p = Picture("average-gradients-per-epoch", RANKS, 9)
    p.note(0, "each rank adds up the gradients of one pass over its part; one update an epoch")
    for lane in range(3):
        for i, text in enumerate(("batch 1", "batch 2", "...", "batch n")):
            p.box(lane, 1.25 * i, 1.25 * (i + 1), "backward", text)
        p.box(lane, 6.2, 7, "update", "update")
        p.box(lane, 7, 8.25, "backward", "batch 1")
    for a, b in ((0, 1), (1, 2)):
        p.arrow(a, 5.1, b, 5.6)
        p.arrow(b, 5.4, a, 5.9)
    p.save()


def scatter_gather():
    p = Picture("scatter-gather", RANKS, 10)
    p.note(0, "once: rank 0 deals out the samples; each iteration: weights out, gradients in, rank 0 alone updates")
    p.box(0, 0, 1.2, "forward", "read samples")
    for lane in (1, 2):
        p.arrow(0, 1.2, lane, 1.2 + 0.6 * lane, "samples" if lane == 1 else "")
        p.arrow(0, 2.6, lane, 2.6 + 0.6 * lane, "weights" if lane == 1 else "")
        p.box(lane, 3.9, 6.2, "backward", "gradients of its part")
        p.arrow(lane, 6.2, 0, 6.2 + 0.6 * lane, "gradients" if lane == 1 else "")
        p.arrow(0, 8.5, lane, 8.5 + 0.6 * lane, "weights" if lane == 1 else "")
    p.box(0, 3.9, 6.2, "backward", "gradients of its part")
    p.box(0, 7.6, 8.4, "update", "update")
    p.save()


for draw in (all_reduce, reduce_broadcast, parameter_server, average_weights, average_gradients, scatter_gather):
    draw()
