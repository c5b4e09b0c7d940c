"""The training loop of the Iris study in PyTorch: prints the seconds of five trainings of 100 epochs, without imports."""
import csv
import json
import sys
import time

import torch
import torch.nn as nn


def main():
    torch.set_num_threads(1)
    rows = list(csv.reader(open(sys.argv[1])))[1:]
    classes = sorted({row[-1] for row in rows})
    x = torch.tensor([[float(v) for v in row[:-1]] for row in rows])
    y = torch.tensor([classes.index(row[-1]) for row in rows])
    x = (x - x.mean(0)) / x.std(0)
    train = torch.randperm(len(rows))[:120]
    x, y = x[train], y[train]
    times = []
    for _ in range(5):
        start = time.perf_counter()
        model = nn.Sequential(nn.Linear(4, 50), nn.ReLU(), nn.Linear(50, 3))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
        criterion = nn.CrossEntropyLoss()
        for _ in range(100):
            order = torch.randperm(len(x))
            for first in range(0, len(x), 64):
                batch = order[first : first + 64]
                optimizer.zero_grad()
                criterion(model(x[batch]), y[batch]).backward()
                optimizer.step()
        times.append(time.perf_counter() - start)
    print(json.dumps(times))


main()
