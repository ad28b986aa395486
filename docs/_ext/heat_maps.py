"""Weights as a picture: what a right attention gives on eight tokens, and what a faulty one gives, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from product import Row

from attention_core.conformance.report.heat_map import CELL, begin, caption, one_map

N = 8
SEEN = 0.02
"""The least difference of two weights that an eye can see."""


def picture(row: Row) -> str:
    """An SVG of right and faulty weights of the first plain call that shows the fault; empty where none does.

    The values of the call are the identity, so its output is its weights.
    """
    if row.contract not in ("attention", "attention-lse") or row.record.get("array", "torch") != "torch":
        return ""
    for words, arguments, allowed, bias in calls():
        right = truth(arguments.get("scale"), allowed, bias)
        faulty = weights_of(row, arguments)
        if faulty is None:
            continue
        shown = np.nan_to_num(faulty, nan=-1.0, posinf=9.0, neginf=-9.0)
        if np.abs(shown - right).max() > SEEN:
            return two_maps(words, right, faulty)
    return ""


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    """A query and a key of eight tokens, the same on every machine."""
    rng = np.random.default_rng(3)
    query, key = (rng.standard_normal((1, 1, N, 4)) * 1.5 for _ in range(2))
    return torch.tensor(query), torch.tensor(key)


def calls() -> Iterator[tuple[str, dict[str, Any], np.ndarray, np.ndarray]]:
    """Calls by what a page says of them: arguments, the pairs that may attend, and the bias."""
    everything, nothing = np.ones((N, N), bool), np.zeros((N, N))
    late = np.tril(everything)
    keys = everything.copy()
    keys[:, 5:] = False
    keys[2] = False
    slope = -0.7 * np.abs(np.subtract.outer(np.arange(N), np.arange(N)))
    yield "a plain call", {}, everything, nothing
    yield "is_causal=True", {"is_causal": True}, late, nothing
    yield "a bool mask; keys 5 to 7 hidden, row 2 without any key", {"attn_mask": torch.tensor(keys)}, keys, nothing
    yield "a float mask", {"attn_mask": torch.tensor(slope)}, everything, slope
    yield "scale=0.1", {"scale": 0.1}, everything, nothing


def truth(scale: float | None, allowed: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The weights by the definition."""
    query, key = (x.numpy()[0, 0] for x in inputs())
    scores = (1 / math.sqrt(query.shape[-1]) if scale is None else scale) * query @ key.T + bias
    powers = np.exp(scores - scores.max(-1, keepdims=True)) * allowed
    total = powers.sum(-1, keepdims=True)
    return np.asarray(np.divide(powers, total, out=np.zeros_like(powers), where=total > 0))


def weights_of(row: Row, arguments: dict[str, Any]) -> np.ndarray | None:
    """The output of a faulty attention where the values are the identity; None where it declines the call."""
    query, key = inputs()
    value = torch.eye(N, dtype=query.dtype).reshape(1, 1, N, N)
    try:
        target = row.make()
        target = target() if row.record.get("factory") else target
        with torch.no_grad():
            result = target(query, key, value, **arguments)
        result = result[0] if isinstance(result, tuple) else result
        found = np.asarray(result.detach().double())
    except Exception:
        return None
    return found.reshape(N, N) if found.size == N * N else None


def two_maps(words: str, right: np.ndarray, faulty: np.ndarray) -> str:
    """Two heat maps with their captions."""
    width, height = 2 * N * CELL + 60, N * CELL + 80
    parts = [
        *begin(width, height, f"Weights of {N} queries over {N} keys, {words}"),
        *one_map(15, "right", right),
        *one_map(N * CELL + 45, "faulty", faulty),
        caption(height - 30, words),
        caption(height - 12, "queries in rows, keys in columns; red: not a weight"),
        "</svg>\n",
    ]
    return "\n".join(parts)
