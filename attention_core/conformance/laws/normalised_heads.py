"""Queries and keys that pass an RMS norm before they meet: their truth, and what its roundings do to the scores.

The truth has no epsilon; one of at most EPS counts as an error. Each bound is derived in
derivations/normalised_heads.md, and comments name its tags. A row of zeros stays one.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.budget import UNIT_ROUNDOFF
from attention_core.conformance.exchange import NDArray

EPS = 1e-5
"""The largest epsilon of a norm that is not told apart from none."""
SINGLE = UNIT_ROUNDOFF["float32"]


def normalised(x: NDArray, weight: NDArray | None, d: int) -> tuple[NDArray, NDArray]:
    """(B, n, H d) after an RMS norm over as many features as its weight has, and the error of float32; none without.

    Source: derivations/normalised_heads.md (root, epsilon).
    """
    if weight is None:
        return x, np.zeros_like(x)
    width = weight.size
    rows = x.reshape(*x.shape[:-1], -1, width)
    mean = np.mean(rows**2, axis=-1, keepdims=True)
    live = mean > 0
    safe = np.where(live, mean, 1.0)
    y = np.where(live, weight * rows / np.sqrt(safe), 0.0)
    gamma = SINGLE * (width + 8) / (1 - SINGLE * (width + 8))  # (norm)
    error = np.where(live, gamma + np.minimum(EPS / (2 * safe), 1.0), 0.0) * np.abs(y)
    return y.reshape(x.shape), np.asarray(error.reshape(x.shape))


def through_scores(
    bound: NDArray, query: tuple[NDArray, NDArray], key: tuple[NDArray, NDArray], mean: NDArray, mask: NDArray | None,
    scale: float,
) -> NDArray:  # fmt: skip
    """The budget of an attention whose queries and keys (B, H, n, d) have errors; `mean` is sum_j p_j |v_j|.

    Source: derivations/normalised_heads.md (score, weight, moved).
    """
    (q, a), (k, b) = query, key
    if not a.any() and not b.any():
        return bound
    away = np.abs(a) @ (np.abs(k) + b).swapaxes(-1, -2) + np.abs(q) @ b.swapaxes(-1, -2)
    away = away * scale
    if mask is not None:
        away = np.where(mask, away, 0.0)
    growth = np.expm1(2 * away.max(axis=-1, keepdims=True, initial=0.0))
    relative = max(_largest(a, q), _largest(b, k))
    return np.asarray(bound * (1 + growth) * (1 + relative) ** 4 + growth * mean)  # (grown), (moved)


def _largest(error: NDArray, values: NDArray) -> float:
    """The largest relative error."""
    size = np.abs(values)
    return float(np.max(np.divide(error, size, out=np.zeros_like(size), where=size > 0), initial=0.0))
