"""Parses layer lines like src/nn and builds PyTorch modules from them."""
import torch.nn.functional as F
from torch import nn


class Margins:
    """The smallest distance of a relu or maxpool to a kink, where float32 might take the other side."""

    def __init__(self):
        self.smallest = 1.0

    def see(self, distances):
        if distances.numel():
            self.smallest = min(self.smallest, distances.min().item())


class Relu(nn.Module):
    def __init__(self, margins):
        super().__init__()
        self.margins = margins

    def forward(self, x):
        self.margins.see(x.detach().abs() / x.detach().abs().max())
        return F.relu(x)


class MaxPool(nn.MaxPool2d):
    def __init__(self, margins, *window):
        super().__init__(*window)
        self.margins = margins

    def forward(self, x):
        padded = F.pad(x.detach(), (self.padding[1],) * 2 + (self.padding[0],) * 2, value=-1e9)
        windows = padded.unfold(2, self.kernel_size[0], self.stride[0])
        windows = windows.unfold(3, self.kernel_size[1], self.stride[1]).flatten(4)
        top = windows.topk(2, dim=-1).values
        gap = (top[..., 0] - top[..., 1]) / x.detach().abs().max()
        self.margins.see(gap[gap > 0])  # zeros of a relu tie, but pass no gradient
        return super().forward(x)


class ChannelNorm(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.movedim(1, -1)).movedim(-1, 1)


class Flatten(nn.Module):
    def forward(self, x):
        return x.flatten(1)


class Residual(nn.Module):
    def __init__(self, body, shortcut):
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x):
        return self.body(x) + self.shortcut(x)


def extent(word):
    parts = [int(part) for part in word.split("x")]
    return tuple(parts * 2 if len(parts) == 1 else parts)


def window(words, stride_is_kernel):
    kernel = extent(words.pop(0))
    stride, pad = kernel if stride_is_kernel else (1, 1), (0, 0)
    while words and words[0] in ("stride", "pad"):
        option, value = words.pop(0), words.pop(0)
        if option == "stride":
            stride = extent(value)
        else:
            pad = tuple(k // 2 for k in kernel) if value == "same" else extent(value)
    return kernel, stride, pad


def split_outside_brackets(text, separator):
    parts, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


class Builder:
    """Builds modules from layer lines, and keeps their tensors by the names of src/nn."""

    def __init__(self):
        self.margins = Margins()
        self.names = {}  # name in src/nn: (module, attribute)

    def layer(self, kind, words, sample):
        channels = sample.shape[1]
        if kind == "dense":
            linear = nn.Linear(sample[0].numel(), int(words.pop(0)))
            return linear, nn.Sequential(Flatten(), linear)
        if kind == "conv":
            filters = int(words.pop(0))
            return (nn.Conv2d(channels, filters, *window(words, False)),) * 2
        if kind == "batchnorm":
            return ((nn.BatchNorm2d if sample.dim() == 4 else nn.BatchNorm1d)(channels),) * 2
        if kind == "layernorm":
            return (ChannelNorm(channels),) * 2
        if kind == "maxpool":
            return (MaxPool(self.margins, *window(words, True)),) * 2
        if kind == "avgpool":
            return (nn.AvgPool2d(*window(words, True)),) * 2
        if kind == "dropout":
            return (nn.Dropout(float(words.pop(0))),) * 2
        if kind == "flatten":
            words.clear()
            return (Flatten(),) * 2
        return ({"relu": Relu(self.margins), "sigmoid": nn.Sigmoid(), "tanh": nn.Tanh(),
                 "gelu": nn.GELU(approximate="tanh"), "softmax": nn.Softmax(dim=1)}[kind],) * 2

    def sequence(self, lines, sample, prefix=""):
        modules, seen = [], {}

        def add(kind, module, runs):
            nonlocal sample
            modules.append(runs)
            for name, _ in list(module.named_parameters()) + list(module.named_buffers()):
                if kind != "residual" and name != "num_batches_tracked":
                    self.names[f"{prefix}{kind}{seen[kind]}.{name}"] = (module, name)
            sample = runs.double()(sample)

        for line in lines:
            if line.startswith("residual"):
                seen["residual"] = seen.get("residual", 0) + 1
                block = f"{prefix}residual{seen['residual']}."
                parts = split_outside_brackets(line[line.index("(") + 1:-1], "|")
                body = self.sequence(split_outside_brackets(parts[0], ";"), sample, block)
                shortcut = nn.Identity()
                if len(parts) == 2:
                    shortcut = self.sequence(split_outside_brackets(parts[1], ";"), sample,
                                             block + "shortcut.")
                module = Residual(body, shortcut)
                add("residual", module, module)
                continue
            words = line.split()
            while words:
                kind = words.pop(0)
                seen[kind] = seen.get(kind, 0) + 1
                add(kind, *self.layer(kind, words, sample))
        return nn.Sequential(*modules)

    def tensors(self, of=lambda tensor: tensor):
        return {name: of(getattr(module, attribute)).detach().clone()
                for name, (module, attribute) in self.names.items()}
