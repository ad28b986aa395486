"""Queries and keys that pass a norm before they meet: their truth, and what its roundings do to the scores.

The truth has no epsilon; one of at most EPS counts as an error. The bounds of both norms and of scores are derived in
derivations/normalised_heads.md, and comments name its tags. A row of zeros stays one.

A layer norm is y = w (x - m) / sqrt(v + eps) + b. With A = mean |x|, M = mean x^2, c = gamma_{D+1} A + u |x - m| the
error of a centred entry, r = gamma_{3D+8} M / v <= 1/2 that of the variance as a part of it, and s^2 = v:

    |y' - y| <= |w| (c / s (1 + r) + |x - m| / s (r + EPS / (2 v))) + 8 u (|w| |x - m| / s + |b|)

Where r > 1/2 there is no bound, save for D = 1, where y = b.

Scores may be off by D_ij of scale |q_i| |k_j|: the budget of the attention grows by F^2, F the largest of
1 + D_ij / (scale |q_i| |k_j|). With relative errors of at most r in each entry, F is at most (1 + r)^2, as in the
document.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.budgets.budget import UNIT_ROUNDOFF
from attention_core.conformance.worker.exchange import NDArray

EPS = 1e-5
"""The largest epsilon of a norm that cannot be distinguished from none."""
SINGLE = UNIT_ROUNDOFF["float32"]


def rms_normalise(x: NDArray, weight: NDArray | None, d: int) -> tuple[NDArray, NDArray]:
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


def layer_normalise(x: NDArray, weight: NDArray, shift: NDArray) -> tuple[NDArray, NDArray]:
    """(B, n, H d) after a layer norm over as many features as its weight has, and the error of float32.

    Source: derivations/normalised_heads.md (centred, layer).
    """
    width = weight.size
    rows = x.reshape(*x.shape[:-1], -1, width)
    if width == 1:
        return np.broadcast_to(shift, rows.shape).reshape(x.shape).copy(), np.zeros_like(x)
    centred = rows - rows.mean(axis=-1, keepdims=True)
    variance = np.mean(centred**2, axis=-1, keepdims=True)
    size = np.mean(np.abs(rows), axis=-1, keepdims=True)
    gamma, double = (SINGLE * k / (1 - SINGLE * k) for k in (width + 1, 3 * width + 8))
    with np.errstate(divide="ignore", invalid="ignore"):
        part = double * np.mean(rows**2, axis=-1, keepdims=True) / variance
        unit = centred / np.sqrt(variance)
        off = (gamma * size + SINGLE * np.abs(centred)) / np.sqrt(variance) * (1 + part)
        error = np.abs(weight) * (off + np.abs(unit) * (part + np.minimum(EPS / (2 * variance), 1.0)))
        error = error + 8 * SINGLE * (np.abs(weight * unit) + np.abs(shift))
    judged = part <= 0.5
    y, error = np.where(judged, weight * unit + shift, shift), np.where(judged, error, np.inf)
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
    with np.errstate(all="ignore"):
        away = np.abs(a) @ (np.abs(k) + b).swapaxes(-1, -2) + np.abs(q) @ b.swapaxes(-1, -2)
        away = np.where(np.isnan(away), np.inf, away)  # 0 times an error without a bound
        part = np.where(away > 0, away / (np.abs(q) @ np.abs(k).swapaxes(-1, -2)), 0.0)
        if mask is not None:
            allowed = mask if mask.dtype == bool else mask > -np.inf
            away, part = (np.where(allowed, x, 0.0) for x in (away, part))
        growth = np.expm1(2 * scale * away.max(axis=-1, keepdims=True, initial=0.0))
        factor = 1 + part.max(axis=-1, keepdims=True, initial=0.0)
        whole = bound * (1 + growth) * factor**2 + growth * mean  # (grown), (moved)
    return np.where(np.isnan(whole), np.inf, whole)
