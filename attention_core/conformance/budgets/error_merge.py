"""What merging parts of the keys by exp(lse - total) adds to the errors of a row's weights.

The shares of the parts are not divided by their sum, so that the rounding of the total moves the whole output. Tags in
comments name steps of derivations/merged_parts.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from attention_core.conformance.budgets.rounding import Array

KEYS_OF_A_PART = 16
FEW_PARTS = 4


def part_count(n: int) -> int:
    """Parts that a kernel may cut n keys into (parts).

    Example:
        >>> [part_count(n) for n in (1, 3, 64, 65)]
        [1, 3, 4, 5]
    """
    return max(1, min(n, FEW_PARTS), -(-n // KEYS_OF_A_PART))


@dataclass(frozen=True)
class Merge:
    """The errors of a merge, entry by entry of the scores: 0 where a query may not attend.

    part: that of a part's log-sum-exp (part-lse). total: that of the scores of the total (total). share: that of
    a part's share (share). parts: how many parts there are; store: the roundoff of what is stored between.
    """

    part: Array
    total: Array
    share: Array
    parts: int
    store: float

    def factor(self, grown: Array, L: Array) -> tuple[Array, Array]:
        """M_ij, the error of a weight that no normaliser cancels (factor), and X_i (total-spread).

        Args: grown: p e^Delta, (..., n_q, n_kv); L: as in (normaliser), (..., n_q, 1).
        """
        spread = (grown * np.expm1(self.total)).sum(axis=-1, keepdims=True) / L
        room = np.maximum(1 - spread, 0.0)
        return (np.expm1(self.share) + spread) / room, spread

    def mismatch(self, factor: Array) -> Array:
        """K_ij, by which the two steps of a score's gradient differ (mismatch)."""
        return np.asarray((1 + factor) ** 2 * np.exp(2 * self.part) - 1)


def merge_errors(scores: Array, lse: Array, hidden: Array | None, *, a: float, w: float, c_sum: float) -> Merge:
    """The errors of a merge for scores (..., n_q, n_kv) and their log-sum-exp (..., n_q, 1).

    Args: a, w: roundoffs of sums and of what is stored; c_sum: gamma_2N of (part-lse); hidden: pairs to leave out.
    """
    n = scores.shape[-1]
    parts = part_count(n)
    live = scores if hidden is None else np.where(hidden, lse, scores)
    size = np.maximum(np.abs(lse), np.abs(live))
    part = c_sum / (1 - c_sum) + (4 * a + w) * size + 2 * a * math.log(max(n, 1))
    total = (parts - 1) * (w * size + 4 * w + 10 * a)
    share = w * np.maximum(lse - live, 0.0) + parts * (4 * w + 4 * a)
    if hidden is not None:
        part, total, share = (np.where(hidden, 0.0, x) for x in (part, total, share))
    return Merge(part, total, share, parts, w)
