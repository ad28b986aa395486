"""Distances between two distributions over the same sectors, and bootstrap intervals of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from finetune.errors import BadInput

RESAMPLES = 2000


@dataclass(frozen=True)
class Distances:
    """How far counts are from reference counts.

    Args:
        l1: sum of |a_s - b_s| over sectors, in labels. Answers outside the set make it larger: they are missing in a.
        total_variation: half the sum of |a_s / N_a - b_s / N_b|, from 0 to 1.
        jensen_shannon: the Jensen-Shannon divergence in bits, from 0 to 1.
    """

    l1: float
    total_variation: float
    jensen_shannon: float


def compare_counts(counts: Sequence[int], reference: Sequence[int]) -> Distances:
    """Compare counts by sector with reference counts.

    With p = a / N_a, q = b / N_b and m = (p + q) / 2, the divergence is (KL(p || m) + KL(q || m)) / 2 in bits.

    Raises:
        BadInput: if the lengths differ, a count is negative, or nothing is counted on one side.

    >>> compare_counts([2, 0], [1, 1])
    Distances(l1=2.0, total_variation=0.5, jensen_shannon=0.31127812...)

    Source: Lin, "Divergence measures based on the Shannon entropy" (1991), equation 4.1.
    """
    a, b = np.asarray(counts, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise BadInput(f"counts of {len(counts)} sectors do not go together with a reference of {len(reference)}")
    if (a < 0).any() or (b < 0).any():
        raise BadInput("a count is below 0")
    if not a.sum() or not b.sum():
        raise BadInput("nothing was counted, so there is no distribution to compare")
    p, q = a / a.sum(), b / b.sum()
    middle = (p + q) / 2
    divergence = (relative_entropy(p, middle) + relative_entropy(q, middle)) / 2
    return Distances(float(np.abs(a - b).sum()), float(np.abs(p - q).sum() / 2), divergence)


def relative_entropy(p: np.ndarray, q: np.ndarray) -> float:
    """Return KL(p || q) in bits, where q is positive wherever p is; 0 log 0 is 0."""
    used = p > 0
    return float((p[used] * np.log2(p[used] / q[used])).sum())


def bootstrap(
    answers: Sequence[int | None], truth: Sequence[int], sectors: int, *, seed: int = 0, resamples: int = RESAMPLES
) -> dict[str, tuple[float, float]]:
    """Return percentile intervals (95 %) of the distances, by drawing labels with their answers and truths again.

    Args:
        answers: the sector of each label, None outside the set.
        truth: the sector that the reference gives each label.
        sectors: how many there are.
        seed: of the draws.
        resamples: how many draws.
    Raises:
        BadInput: if the lengths differ, or no answer is in the set.
    Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), section 13.3.
    """
    if len(answers) != len(truth):
        raise BadInput(f"{len(answers)} answers do not go together with {len(truth)} labels of the reference")
    chosen = np.array([sectors if answer is None else answer for answer in answers])
    reference = np.array(truth)
    if not len(chosen) or (chosen == sectors).all():
        raise BadInput("no answer is one of the sectors, so there is nothing to compare")
    generator = np.random.default_rng(seed)
    drawn: list[Distances] = []
    while len(drawn) < resamples:
        rows = generator.integers(len(chosen), size=len(chosen))
        counts = np.bincount(chosen[rows], minlength=sectors + 1)[:sectors]
        if counts.sum():  # a draw without a valid answer has no distribution; it is drawn again
            drawn.append(compare_counts(counts.tolist(), np.bincount(reference[rows], minlength=sectors).tolist()))
    names = ("l1", "total_variation", "jensen_shannon")
    ends = {name: np.quantile([getattr(d, name) for d in drawn], [0.025, 0.975]) for name in names}
    return {name: (float(low), float(high)) for name, (low, high) in ends.items()}
