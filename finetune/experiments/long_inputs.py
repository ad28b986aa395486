"""Experiment: what long inputs cost, in time and in memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attention_core.kernels.fused import fused_attention
from finetune.experiments.attention import ScoredMix
from finetune.experiments.experiment import Claim, Experiment, Measure, Setting
from finetune.experiments.linear_cost import AttentionFree, RandomFeatures
from finetune.experiments.scores import ScaledDot
from finetune.experiments.texts import Text

LENGTHS = (128, 256, 512, 1024)
WIDTH, HEADS = 32, 2


class Fused(nn.Module):
    """torch's fused kernel: the same function without a matrix of scores in memory."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Mix the values."""
        return fused_attention(query, key, value, is_causal=True)


MIXES: dict[str, Callable[[], nn.Module]] = {
    "matrix of scores": lambda: ScoredMix(ScaledDot()),
    "fused": Fused,
    "AFT-simple": AttentionFree,
    "32 features": lambda: RandomFeatures(WIDTH, 32),
}


def saved_bytes(call: Callable[[], Tensor]) -> int:
    """Return the bytes of the distinct tensors that a call keeps for its gradient."""
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        call()
    return sum(kept.values())


def run(variant: str, seed: int, setting: Setting, text: Text) -> dict[str, Any]:
    """Time forward and backward at each length, in the shortest of a few calls, and count what is kept."""
    torch.manual_seed(seed)
    mix, times, kept = MIXES[variant](), [], []
    for n in LENGTHS:
        q, k, v = (torch.randn(1, HEADS, n, WIDTH, requires_grad=True) for _ in range(3))
        seconds = []
        for _ in range(setting.steps + 1):  # the first call makes what is kept between calls
            start = time.process_time()
            torch.autograd.grad(mix(q, k, v).sum(), (q, k, v))
            seconds.append(time.process_time() - start)
        times.append((n, 1e3 * max(min(seconds[1:]), 1e-6)))
        kept.append((n, saved_bytes(lambda q=q, k=k, v=v: mix(q, k, v)) / 2**20))  # type: ignore[misc]
    return {
        "milliseconds": times[-1][1], "mebibytes": kept[-1][1], "time_growth": growth(times[-2:]),
        "memory_growth": growth(kept[-2:]), "times": times,
    }  # fmt: skip


def growth(curve: list[tuple[int, float]]) -> float:
    """Return the exponent e of value ~ n^e, by least squares on logarithms.

    >>> growth([(1, 5.0), (2, 20.0)])
    2.0
    """
    x, y = np.log(np.array(curve, dtype=float)).T
    return float(np.round(np.polyfit(x, y, 1)[0], 6))


EXPERIMENT = Experiment(
    name="long_inputs",
    title="Long inputs",
    question="How do time and memory grow with the length of the input, and what helps?",
    background=(
        "Source 004 (question 7) names the quadratic cost of attention. Forward and backward are timed for one "
        f"call of {HEADS} heads of {WIDTH} features at {', '.join(map(str, LENGTHS))} tokens; seeds are "
        "repetitions. Growth is the exponent e of n^e between the last two lengths: 1 is linear, 2 quadratic. "
        "Memory is what the call keeps for its gradient. The fused kernel computes the same function as the "
        "matrix of scores; the other two do not: what they lose is measured by `without_scores`."
    ),
    variants={
        "matrix of scores": "scaled dot products, softmax and product as separate tensors",
        "fused": "torch's fused kernel, row by row",
        "AFT-simple": "Attention Free Transformer without numbers for places",
        "32 features": "random features of the softmax kernel, 32 a head",
    },
    baseline="matrix of scores",
    measures=(
        Measure("milliseconds", f"ms at {LENGTHS[-1]} tokens", ratio=True, timed=True),
        Measure("time_growth", "growth of time", timed=True, compared=False),
        Measure("mebibytes", f"MiB kept at {LENGTHS[-1]} tokens", compared=False),
        Measure("memory_growth", "growth of memory", compared=False),
    ),
    claims=(
        Claim("the memory of a matrix of scores grows faster than n^1.5", "memory_growth", "matrix of scores", None,
              "higher", value=1.5, source="source 004, question 7"),
        Claim("the memory of the fused kernel grows no faster than n^1.1", "memory_growth", "fused", None, "lower",
              value=1.1),
        Claim("the time of the fused kernel grows faster than n^1.3 all the same", "time_growth", "fused", None,
              "higher", value=1.3),
        Claim("the Attention Free Transformer is faster on long inputs", "milliseconds", "AFT-simple",
              "matrix of scores"),
        Claim("random features are faster on long inputs", "milliseconds", "32 features", "matrix of scores"),
    ),
    run=run,
    setting=Setting(steps=5),
    curve=("times", "tokens", "ms of the processor"),
    code=(Fused, saved_bytes),
    uses_text=False,
    logarithmic=True,
)  # fmt: skip
