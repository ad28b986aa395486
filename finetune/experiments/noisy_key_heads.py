"""Experiment: one head against several when keys are noisy, with queries that are learnt."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from finetune.experiments.experiment import Claim, Experiment, Measure, Setting
from finetune.experiments.texts import Text

KEYS = 8
WANTED = (0, 1)
"""The two keys whose values are to be averaged."""
JUDGED = 4096


def noisy_keys(means: Tensor, count: int, size: float, generator: torch.Generator) -> Tensor:
    """Return k_i = (1 + size e_i) mu_i, e_i standard normal: each key keeps its direction and changes its length."""
    return means * (1 + size * torch.randn(count, len(means), 1, generator=generator))


def mixture(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return the mean over the heads of softmax(q_h K^T) V: each head has one query for all draws of the keys.

    Args:
        queries: (H, d).
        keys: (B, n, d).
        values: (n, d_v).
    Returns:
        (B, d_v).
    """
    weights = torch.softmax(queries @ keys.transpose(-2, -1), dim=-1)  # (B, H, n)
    return (weights @ values).mean(dim=1)


def run(variant: str, seed: int, setting: Setting, text: Text) -> dict[str, Any]:
    """Learn the queries of one seed's keys by gradient descent on the squared error, and judge them on fresh noise."""
    heads, size = VARIANTS[variant]
    generator = torch.Generator().manual_seed(seed)
    means = torch.linalg.qr(torch.randn(setting.n_embd, KEYS, generator=generator))[0].T
    values = torch.eye(KEYS)
    wanted = values[list(WANTED)].mean(0)
    queries = (0.1 * torch.randn(heads, setting.n_embd, generator=generator)).requires_grad_()
    optimizer = torch.optim.Adam([queries], lr=setting.learning_rate)
    curve = []
    for step in range(1, setting.steps + 1):
        optimizer.zero_grad()
        keys = noisy_keys(means, setting.batch_size, size, generator)
        loss = (mixture(queries, keys, values) - wanted).square().sum(-1).mean()
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no types here
        optimizer.step()
        if step % max(setting.steps // 20, 1) == 0:
            curve.append((step, float(loss.detach())))
    with torch.no_grad():
        out = mixture(queries, noisy_keys(means, JUDGED, size, generator), values)
        error = float((out - wanted).square().sum(-1).mean().sqrt())
        spread = float(out.var(0).sum().sqrt())
    return {"error": error, "spread": spread, "length": float(queries.detach().norm(dim=-1).mean()), "curve": curve}


VARIANTS = {f"{heads} head{'s' * (heads > 1)}, {name}": (heads, size)
            for name, size in (("exact keys", 0.0), ("noisy keys", 0.5)) for heads in (1, 2, 4)}  # fmt: skip
EXPERIMENT = Experiment(
    name="noisy_key_heads",
    title="One head or several, when keys are noisy",
    question="Why does averaging two values want two heads?",
    background=(
        "Source 003 (question 1) lets one head copy the mean of two values, and shows that noise in the length of "
        "a key then moves the weight from one value to the other; two heads, one a value, do not mind. Source 004 "
        "(question 2) praises several heads in words. Here the queries are not made by hand but learnt: the mean "
        f"of the heads' outputs is to be the mean of two of {KEYS} values. All heads have the whole width, so one "
        "head lacks nothing but another head. Errors are root mean squares on fresh noise, where 0.71 is the "
        "distance of the target from 0."
    ),
    variants={name: f"noise of {size:g} in the length of each key" for name, (_, size) in VARIANTS.items()},
    baseline="1 head, noisy keys",
    measures=(
        Measure("error", "error", digits=4),
        Measure("spread", "spread of the output", digits=4),
        Measure("length", "length of the queries", compared=False),
    ),
    claims=(
        Claim("two heads make a smaller error with noisy keys", "error", "2 heads, noisy keys", "1 head, noisy keys",
              margin=0.01, source="source 003, question 1"),
        Claim("two heads are as good as one with exact keys", "error", "2 heads, exact keys", "1 head, exact keys",
              "same", 0.01, source="source 003, question 1"),
        Claim("four heads make a smaller error than two", "error", "4 heads, noisy keys", "2 heads, noisy keys",
              margin=0.01),
        Claim("the output of two heads varies less", "spread", "2 heads, noisy keys", "1 head, noisy keys",
              margin=0.01),
    ),
    run=run,
    setting=Setting(steps=800, batch_size=64, n_embd=16, learning_rate=0.05),
    curve=("curve", "step", "squared error of a batch"),
    code=(noisy_keys, mixture),
    uses_text=False,
)  # fmt: skip
