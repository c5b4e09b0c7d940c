"""A PyTorch training step, run on request: the rival of bench/compare.py and bench/ranks.py.

Reads one JSON line per request on stdin, {"seconds": s} or {"steps": n}, trains for that long on a fixed batch
and answers with {"best": ..., "median": ...} seconds per step. The network is described in Lockstep's own layer
lines. With WORLD_SIZE, RANK, MASTER_ADDR and MASTER_PORT set it is one rank of DistributedDataParallel (gloo).
"""
import json
import os
import sys
import time

import numpy
import torch
import torch.nn as nn


class Add(nn.Module):
    def __init__(self, body, shortcut):
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x):
        return self.body(x) + self.shortcut(x)


ACTIVATIONS = {"relu": nn.ReLU, "sigmoid": nn.Sigmoid, "tanh": nn.Tanh, "gelu": lambda: nn.GELU(approximate="tanh")}


def pair(word):
    a, _, b = word.partition("x")
    return int(a), int(b or a)


def layers_of(lines, shape):
    """Modules for the lines, and their output shape: (channels, height, width) or (features,)."""
    modules = []
    for line in lines:
        words = line.split()
        kind, words = words[0], words[1:]
        if line.startswith("residual("):
            body, _, shortcut = line[len("residual("):-1].partition("|")
            inner, out = layers_of([l.strip() for l in body.split(";")], shape)
            side = layers_of([l.strip() for l in shortcut.split(";")], shape)[0] if shortcut else nn.Identity()
            modules.append(Add(inner, side))
            shape = out
            continue
        if kind in ("conv", "maxpool", "avgpool"):
            filters = int(words.pop(0)) if kind == "conv" else shape[0]
            kernel = pair(words.pop(0))
            stride, pad = (kernel if kind != "conv" else (1, 1)), (0, 0)
            while words and words[0] in ("stride", "pad"):
                option, value = words.pop(0), words.pop(0)
                if option == "stride":
                    stride = pair(value)
                else:
                    pad = tuple(k // 2 for k in kernel) if value == "same" else pair(value)
            if kind == "conv":
                modules.append(nn.Conv2d(shape[0], filters, kernel, stride, pad))
            else:
                modules.append((nn.MaxPool2d if kind == "maxpool" else nn.AvgPool2d)(kernel, stride, pad))
            size = [(n + 2 * p - k) // s + 1 for n, k, s, p in zip(shape[1:], kernel, stride, pad)]
            shape = (filters, *size)
        elif kind in ("dense", "flatten"):
            if len(shape) == 3:
                modules.append(nn.Flatten())
                shape = (shape[0] * shape[1] * shape[2],)
            if kind == "dense":
                outputs = int(words.pop(0))
                modules.append(nn.Linear(shape[0], outputs))
                shape = (outputs,)
            else:
                words = words[1:] if words and words[0].isdigit() else words
        elif kind == "dropout":
            modules.append(nn.Dropout(float(words.pop(0))))
        elif kind == "batchnorm":
            modules.append(nn.BatchNorm2d(shape[0]) if len(shape) == 3 else nn.BatchNorm1d(shape[0]))
        elif kind in ACTIVATIONS:
            words = [kind]
        for word in words:
            modules.append(ACTIVATIONS[word]())
    return nn.Sequential(*modules), shape


def batch_of(spec):
    height, width, channels = spec["input"]
    if spec.get("images"):
        raw = numpy.fromfile(spec["images"], numpy.uint8, offset=16)[: spec["batch"] * height * width]
        x = torch.tensor(raw.astype(numpy.float32) / 255).view(-1, channels, height, width)
        labels = numpy.fromfile(spec["labels"], numpy.uint8, offset=8)[: spec["batch"]]
        return x, torch.tensor(labels.astype(numpy.int64))
    return torch.randn(spec["batch"], channels, height, width), torch.randint(0, spec["classes"], (spec["batch"],))


def main():
    spec = json.loads(sys.argv[1])
    torch.manual_seed(1)
    torch.set_num_threads(1)
    height, width, channels = spec["input"]
    flat = spec["layers"][0].startswith("dense")
    x, labels = batch_of(spec)
    shape = (channels * height * width,) if flat else (channels, height, width)
    if flat:
        x = x.flatten(1)
    model, _ = layers_of(spec["layers"], shape)
    if spec["layout"] == "channels_last" and not flat:
        model = model.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
        if channels == 1:  # channels_last is a no-op for one channel, so set the strides explicitly
            x = x.as_strided(x.shape, (height * width, 1, width, 1))
    if "WORLD_SIZE" in os.environ:
        torch.distributed.init_process_group("gloo")
        model = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    if spec.get("compile"):
        model = torch.compile(model)
    fused = {"fused": True} if int(torch.__version__.split(".")[0]) >= 2 else {}
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001, **fused)
    criterion = nn.CrossEntropyLoss()

    def step():
        optimizer.zero_grad(set_to_none=True)
        criterion(model(x), labels).backward()
        optimizer.step()

    for _ in range(3):
        step()
    print("ready", flush=True)
    for line in sys.stdin:
        request, times = json.loads(line), []
        until = time.perf_counter() + request.get("seconds", 0)
        while time.perf_counter() < until or len(times) < request.get("steps", 3):
            start = time.perf_counter()
            step()
            times.append(time.perf_counter() - start)
        times.sort()
        print(json.dumps({"best": times[0], "median": times[len(times) // 2]}), flush=True)


main()
