#!/usr/bin/python3
"""Steps of a GPT-2 in PyTorch, optimised for CPUs: one fused product for q, k and v, one call for gelu.

  bench/pytorch/gpt2.py LAYERS HEADS WIDTH CONTEXT VOCABULARY BATCH SECONDS [compile]    prints the seconds of each step as JSON
"""
import json
import math
import os
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, heads, width, context):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.c_out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.register_buffer("hidden", ~torch.tril(torch.ones(context, context)).bool())

    def forward(self, x):
        samples, length, width = x.shape
        q, k, v = (t.view(samples, length, self.heads, -1).transpose(1, 2)
                   for t in self.c_attn(self.ln_1(x)).split(width, dim=2))
        if hasattr(F, "scaled_dot_product_attention"):  # PyTorch 2: one fused kernel
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(2, 3) / math.sqrt(width // self.heads)
            y = F.softmax(scores.masked_fill(self.hidden[:length, :length], -math.inf), dim=-1) @ v
        x = x + self.c_proj(y.transpose(1, 2).reshape(samples, length, width))
        return x + self.c_out(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, layers, heads, width, context, vocabulary):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(heads, width, context) for _ in range(layers)))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, ids, labels):
        x = self.blocks(self.wte(ids) + self.wpe(torch.arange(ids.shape[1])))
        logits = self.ln_f(x) @ self.wte.weight.T
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def main():
    layers, heads, width, context, vocabulary, batch = map(int, sys.argv[1:7])
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    model = GPT2(layers, heads, width, context, vocabulary)
    fused = {"fused": True} if int(torch.__version__.split(".")[0]) >= 2 else {}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1, **fused)
    ids, labels = (torch.randint(vocabulary, (batch, context)) for _ in range(2))
    if sys.argv[8:] == ["compile"]:
        model = torch.compile(model)
        model(ids, labels).backward()  # compiles
    times, began = [], time.perf_counter()
    while len(times) < 4 or time.perf_counter() - began < float(sys.argv[7]):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        model(ids, labels).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        times.append(time.perf_counter() - start)
    print(json.dumps(times[1:]))


main()
