"""What laws of the value expect of an output without asking the oracle: means, ranges, the leading key.

The oracle serves for scores and budgets alone here, so a fault shared with its output cannot hide.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.subjects.evidence import require_close
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray

LEFT = 1 / 64
"""How much weight the keys after the leading one may keep; e^-gap n <= LEFT sets the gap."""
BEYOND_HALF = 2.0**20
"""A score that float16 is far from holding, and that float32 still resolves to 1/8."""
SHARPEST = 2.0**10
"""Largest factor on queries or scale; scores stay finite in float16."""


def limit(subject: Subject, case: Case) -> NDArray:
    """The output's error budget, (B, H, n_q, d_v)."""
    bound = subject.bounds(case).out
    assert bound is not None
    return bound


def finite_rows(subject: Subject, case: Case) -> NDArray:
    """(B, H, n_q, 1): rows that attend to something and in which nothing can overflow."""
    finite = subject.bounds(case).finite
    assert finite is not None
    return np.asarray(finite & ~subject.truth(case).dead)[..., None]


def query_values(case: Case) -> NDArray:
    """The values as each query head meets them, (B, H, n_kv, d_v)."""
    return np.repeat(case.value, case.group, axis=-3)


def float_noise(value: NDArray) -> NDArray:
    """Rounding of a mean taken here in float64, (B, H, 1, d_v): 2 n u max|v|, for sum and quotient."""
    return np.asarray(2 * value.shape[-2] * 2.0**-53 * np.abs(value).max(axis=-2, keepdims=True))


def diameter(value: NDArray) -> NDArray:
    """max_jk |v_jc - v_kc| per coordinate, (B, H, 1, d_v)."""
    return np.asarray(value.max(axis=-2, keepdims=True) - value.min(axis=-2, keepdims=True))


def attended_range(case: Case, seen: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Smallest, largest and largest absolute attended value per row and coordinate, each (B, H, n_q, d_v)."""
    value = query_values(case)[..., None, :, :]
    hidden = ~seen[..., None]
    low = np.where(hidden, np.inf, value).min(axis=-2, initial=np.inf)
    high = np.where(hidden, -np.inf, value).max(axis=-2, initial=-np.inf)
    empty = low > high
    low, high = np.where(empty, 0.0, low), np.where(empty, 0.0, high)
    return low, high, np.maximum(np.abs(low), np.abs(high))


def require_mean(subject: Subject, case: Case, what: str) -> None:
    """The output is the plain mean of the attended values."""
    seen = np.where(subject.truth(case).scores > -np.inf, 1.0, 0.0)
    value = query_values(case)
    mean = seen @ value / np.maximum(seen.sum(axis=-1, keepdims=True), 1.0)
    bound = limit(subject, case) + float_noise(value)
    require_close(subject.forward(case).out, mean, bound, what, where=finite_rows(subject, case))


def gaps(scores: NDArray) -> NDArray:
    """How far the best score of a row is ahead of the next, (..., n_q); inf where there is no next."""
    if scores.shape[-1] < 2:
        return np.full(scores.shape[:-1], np.inf)
    two = np.partition(scores, -2, axis=-1)[..., -2:]
    with np.errstate(invalid="ignore"):
        gap = two[..., 1] - two[..., 0]
    return np.where(np.isnan(gap), 0.0, gap)


def sharpen(case: Case) -> NDArray:
    """Powers of two, (B, H, n_q, 1), that open the gap of each row of plain scores to e^-gap n <= LEFT."""
    scale = case.factor
    key = np.repeat(case.key, case.group, axis=-3)
    gap = gaps(scale * case.query @ key.swapaxes(-1, -2))
    wanted = np.log(case.key.shape[-2] / LEFT)
    with np.errstate(divide="ignore"):
        factor = np.exp2(np.ceil(np.log2(wanted / gap)))
    tied = ~np.isfinite(factor) | (factor > SHARPEST)
    return np.asarray(np.where(tied, 1.0, np.maximum(factor, 1.0))[..., None])


def beyond_half_scores(case: Case) -> NDArray:
    """Powers of two, (B, H, 1, 1), that bring the largest score of a problem to 2^20 or more."""
    key = np.repeat(case.key, case.group, axis=-3)
    size = np.abs(case.factor * case.query @ key.swapaxes(-1, -2)).max(axis=(-2, -1), keepdims=True, initial=0.0)
    with np.errstate(divide="ignore"):
        factor = np.exp2(np.ceil(np.log2(BEYOND_HALF / size)))
    return np.asarray(np.where(np.isfinite(factor), np.maximum(factor, 1.0), 1.0))


def near_the_best(subject: Subject, case: Case, what: str) -> int:
    """|f(x) - v_J| <= (n - 1) e^-gap diameter + E_o; the number of problems where that says something."""
    truth = subject.truth(case)
    count = np.sum(truth.scores > -np.inf, axis=-1)
    gap = gaps(truth.scores)
    left = np.minimum(np.maximum(count - 1, 0) * np.exp(-gap), 1.0)[..., None]
    value = query_values(case)
    wide = diameter(value)
    best = np.take_along_axis(value, truth.scores.argmax(axis=-1)[..., None], axis=-2)
    bound = left * wide + limit(subject, case)
    where = finite_rows(subject, case)
    require_close(subject.forward(case).out, best, bound, what, where=where)
    says = (where & (bound < wide / 2)).any(axis=(-2, -1))
    return int(says.sum())
