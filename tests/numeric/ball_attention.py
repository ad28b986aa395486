"""Ball-arithmetic attention, values and derivatives, for small problems.

Attention by plain loops in ball arithmetic: every number is an interval that is sure to hold the truth.
Derivatives come from power series in one variable t, so no formula of a gradient is used here.
It knows nothing of NumPy's broadcasting: heads, masks and sums are written out one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flint
import numpy as np

BITS = 240  # far beyond 53: a ball is narrower than any float64 error that is measured against it

Rows = Sequence[Sequence[Any]]


def series(value: float, slope: float = 0.0) -> Any:
    """value + slope t, exactly."""
    return flint.arb_series([flint.arb(value), flint.arb(slope)])


def lines(x: np.ndarray, w: np.ndarray | None = None) -> list[list[Any]]:
    """A matrix as rows of x + t w."""
    w = np.zeros_like(x) if w is None else w
    return [[series(float(a), float(b)) for a, b in zip(r, s, strict=True)] for r, s in zip(x, w, strict=True)]


def one_head(
    query: Rows,
    key: Rows,
    value: Rows,
    bias: Callable[[int, int], Any],
    may: Callable[[int, int], bool],
    scale: Any,
) -> tuple[list[list[Any]], list[Any]]:
    """Output rows and sums of exp(score); a row that may attend nothing gives zeros and 0."""
    out, sums = [], []
    for i, q in enumerate(query):
        total, acc = series(0.0), [series(0.0) for _ in range(len(value[0]) if value else 0)]
        for j, k in enumerate(key):
            if may(i, j):
                score = series(0.0)
                for a, b in zip(q, k, strict=True):
                    score = score + a * b
                weight = (score * scale + bias(i, j)).exp()
                total = total + weight
                acc = [s + weight * x for s, x in zip(acc, value[j], strict=True)]
        dead = not any(may(i, j) for j in range(len(key)))
        out.append(acc if dead else [s / total for s in acc])
        sums.append(total)
    return out, sums


def attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    allow: np.ndarray,
    bias: np.ndarray,
    directions: tuple[np.ndarray, ...] | None = None,
) -> tuple[list[list[list[Any]]], list[list[Any]]]:
    """(H, n_q, d), (H_kv, n_kv, d), (H_kv, n_kv, d_v) -> outputs [h][i][c] and sums of exponentials [h][i].

    allow and bias are full (H, n_q, n_kv); directions, of query, key, value and bias, give the slopes in t.
    """
    flint.ctx.prec, flint.ctx.cap = BITS, 3
    moves = directions or tuple(np.zeros_like(x) for x in (query, key, value, bias))
    scale = 1 / flint.arb(query.shape[-1]).sqrt()
    outs, sums = [], []
    for h in range(len(query)):
        g = h * len(key) // len(query)

        def added(i: int, j: int, h: int = h) -> Any:
            return series(float(bias[h, i, j]), float(moves[3][h, i, j]))

        def may(i: int, j: int, h: int = h) -> bool:
            return bool(allow[h, i, j])

        parts = (lines(query[h], moves[0][h]), lines(key[g], moves[1][g]), lines(value[g], moves[2][g]))
        out, total = one_head(*parts, added, may, scale)
        outs.append(out)
        sums.append(total)
    return outs, sums


def loss(outs: list[list[list[Any]]], cotangent: np.ndarray) -> Any:
    """<out, cotangent> as a series in t."""
    total = series(0.0)
    for out, c in zip(outs, cotangent, strict=True):
        for row, weights in zip(out, c, strict=True):
            for x, w in zip(row, weights, strict=True):
                total = total + x * flint.arb(float(w))
    return total


def distance(got: float, ball: Any) -> float:
    """How far got surely is from the truth; a ball is some 2^-200 wide, so little is given away."""
    return float(abs(flint.arb(got) - ball).lower()) if np.isfinite(got) else np.inf
