#!/usr/bin/python3
"""Makes gpt2-*.safetensors of this folder with PyTorch: python3 tests/golden/make_gpt2_golden.py

The same contents as the files of make_golden.py; the input is token ids (samples x context), labels are the next ids.
GPT-2 is implemented here from its paper and published code, with Hugging Face's names.
"""
import math

import torch
import torch.nn.functional as F
from make_golden import FOLDER, optimizer_of, write

STEPS, EPSILON = 10, 1e-4
CASES = {  # layers, heads, width, context, vocabulary, length and number of samples, optimiser
    "gpt2-tiny": (2, 2, 8, 12, 19, 9, 3, {"name": "adamw", "lr": 0.01, "weight_decay": 0.1}),
    "gpt2-wide-heads": (1, 3, 27, 16, 33, 16, 2, {"name": "adam", "lr": 0.005}),
    "gpt2-blocks": (1, 1, 4, 80, 11, 80, 2, {"name": "sgd", "lr": 0.1}),
}


def initial(layers, width, context, vocabulary):
    def table(*shape, scale=0.3):
        return (torch.randn(*shape) * scale).float().double()

    t = {"transformer.wte.weight": table(vocabulary, width), "transformer.wpe.weight": table(context, width)}
    for i in range(layers):
        h = f"transformer.h.{i}."
        for norm in ("ln_1", "ln_2"):
            t[h + norm + ".weight"] = table(width) + 1
            t[h + norm + ".bias"] = table(width)
        for name, n_in, n_out in (("attn.c_attn", width, 3 * width), ("attn.c_proj", width, width),
                                  ("mlp.c_fc", width, 4 * width), ("mlp.c_proj", 4 * width, width)):
            t[h + name + ".weight"] = table(n_in, n_out)
            t[h + name + ".bias"] = table(n_out)
    t["transformer.ln_f.weight"] = table(width) + 1
    t["transformer.ln_f.bias"] = table(width)
    return {name: value.double().requires_grad_() for name, value in t.items()}


def logits_of(t, ids, layers, heads):
    samples, length = ids.shape
    wte = t["transformer.wte.weight"]
    x = wte[ids] + t["transformer.wpe.weight"][:length]
    width = x.shape[-1]

    def norm(name, value):
        return F.layer_norm(value, (width,), t[name + ".weight"], t[name + ".bias"], 1e-5)

    def linear(name, value):
        return value @ t[name + ".weight"] + t[name + ".bias"]

    def split(value):
        return value.view(samples, length, heads, width // heads).transpose(1, 2)

    mask = torch.tril(torch.ones(length, length)).bool()
    for i in range(layers):
        h = f"transformer.h.{i}."
        q, k, v = map(split, linear(h + "attn.c_attn", norm(h + "ln_1", x)).split(width, dim=2))
        scores = (q @ k.transpose(2, 3)) / math.sqrt(width // heads)
        shares = F.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
        mixed = (shares @ v).transpose(1, 2).reshape(samples, length, width)
        x = x + linear(h + "attn.c_proj", mixed)
        inner = linear(h + "mlp.c_fc", norm(h + "ln_2", x))
        inner = 0.5 * inner * (1 + torch.tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * inner ** 3)))
        x = x + linear(h + "mlp.c_proj", inner)
    return norm("transformer.ln_f", x) @ wte.T


def main():
    torch.set_num_threads(1)
    for name, (layers, heads, width, context, vocabulary, length, samples, o) in CASES.items():
        torch.manual_seed(1)
        t = initial(layers, width, context, vocabulary)
        ids = torch.randint(vocabulary, (samples, length + 1))
        x, labels = ids[:, :-1], ids[:, 1:]
        tensors = {"input": x, "labels": labels.flatten()}
        tensors.update({f"initial/{n}": v.detach().clone() for n, v in t.items()})
        optimizer = optimizer_of(o, list(t.values()))
        # The gradients of key biases are rounding errors; a large epsilon keeps Adam from scaling them up.
        for group in optimizer.param_groups:
            group["eps"] = EPSILON
        for step in range(STEPS):
            optimizer.zero_grad()
            logits = logits_of(t, x, layers, heads)
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
            loss.backward()
            if step == 0:
                tensors.update(logits=logits.detach(), loss=loss.detach().reshape(1))
                tensors.update({f"gradient/{n}": v.grad.clone() for n, v in t.items()})
            optimizer.step()
        tensors.update({f"after/{n}": v.detach() for n, v in t.items()})
        tensors["evaluated"] = logits_of(t, x, layers, heads).detach()
        line = f"gpt2 layers {layers} heads {heads} width {width} context {context} vocabulary {vocabulary} dropout 0"
        metadata = {"layers": line, "input": str(length), "loss": "softmax-cross-entropy",
                    "optimizer": o["name"], "steps": str(STEPS), "epsilon": str(EPSILON)}
        metadata.update({key: str(o.get(key, 0.0)) for key in ("lr", "momentum", "weight_decay", "clip_norm")})
        path = FOLDER / f"{name}.safetensors"
        write(path, tensors, metadata)
        print(f"{name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
