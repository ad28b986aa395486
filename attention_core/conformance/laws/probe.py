"""A problem whose output shows every weight: equal scores, and values of one column per key.

A query of zeros gives every key the weight 1/n exactly; values (I I; 0 0) return the weights of the first n/2
keys, twice. A weight that dropout takes is a zero in both copies; one that it keeps is 1/(n (1 - p)) in both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.laws.derived import output_bound
from attention_core.conformance.subjects.evidence import NotApplicable, Result, require_close
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray

BATCH, HEADS = 2, 4
LENGTHS = (64, 32, 128, 16)
"""Powers of two, so that 1/n is exact in every dtype; the first that the target allows is taken."""


def probe_of(
    subject: Subject, case: Case, batch: int = BATCH, heads: int = HEADS, lengths: tuple[int, ...] = LENGTHS
) -> Case:
    """The probe in the dtype of `case`; all four sizes are n, which rules of sizes are likeliest to allow."""
    allows = subject.binding.profile().allows
    n = next((n for n in lengths if allows((n, n, n, n, heads, heads))), 0)
    if not n:
        raise NotApplicable("no declared size shows every weight")
    key = in_turn((1.0, 2.0, 3.0), (batch, heads, n, n))
    shown = np.vstack([np.hstack([np.eye(n // 2)] * 2), np.zeros((n // 2, n))])
    value = np.broadcast_to(shown, (batch, heads, n, n)).copy()
    query = np.zeros((batch, heads, n, n))
    return Case(case.dtype, query, key, value, seed=case.seed, default_scale=case.default_scale)


def in_turn(numbers: tuple[float, ...], shape: tuple[int, ...]) -> NDArray:
    """The numbers again and again: not drawn, so that a program that shows a failure writes them in a line.

    Example: in_turn((1.0, 2.0, 3.0), (2, 2)) is [[1, 2], [3, 1]].
    """
    return np.resize(np.array(numbers), shape)


@dataclass(frozen=True)
class Observed:
    """Which weights a call kept, (B, H, n, n/2): those of the first n/2 keys."""

    kept: NDArray
    result: Result


def observe(subject: Subject, probe: Case, result: Result) -> Observed:
    """Read the kept weights from an output of the probe: they exceed half their value without dropout."""
    half = probe.key.shape[-2] // 2
    return Observed(result.values[..., :half] > subject.truth(probe).out[..., :half] / 2, result)


def drop(subject: Subject, probe: Case, p: float, seed: int | None) -> Observed:
    """One call of the probe with dropout p; `seed` sets the generator, None leaves it where it is."""
    return observe(subject, probe, subject.forward(probe, dropout=p, seed=seed).out)


def require_dropout_values(subject: Subject, probe: Case, p: float, seen: Observed) -> None:
    """Raise unless every weight is 0 or 1/(1 - p) times itself, the same in both copies.

    The bound is E_o / (1 - p): the weights carry the errors of a call without dropout, and 1/(1 - p) is a
    power of two.
    """
    factor = 1 / (1 - p)
    bound = output_bound(subject, probe)
    want = np.where(np.concatenate([seen.kept] * 2, axis=-1), factor * subject.truth(probe).out, 0.0)
    require_close(seen.result, want, factor * bound, f"a weight under dropout {p:g}, dropped or kept")
