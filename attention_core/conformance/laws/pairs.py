"""What metamorphic laws share: two related calls, compared by their budgets and the truth's own difference.

Invariance is never bitwise: |f(x') - f(x)| <= E(x) + E(x') + |t(x') - t(x)| with t the truth on the inputs as rounded.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.subjects.evidence import (
    Evidence,
    Result,
    Violation,
    require_close,
    require_finite,
    require_same,
)
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray

Move = Callable[[NDArray], NDArray]


def same_output(
    subject: Subject, case: Case, other: Case, what: str, *, move: Move | None = None, where: NDArray | None = None,
    fresh: bool = False,
) -> None:  # fmt: skip
    """The output for `other` is the (moved) output for `case`, within both budgets and the truth's difference.

    `move` maps an output array of `case` to the order of `other`'s (identity when None); `where` selects elements of
    `other`'s output. `fresh` calls the target anew instead of taking remembered results.
    """
    first = subject.forward(case, fresh=fresh).out
    second = subject.forward(other, fresh=fresh).out
    go: Move = move or identity
    true_first, true_second = go(subject.truth(case).out), subject.truth(other).out
    with np.errstate(invalid="ignore"):
        difference = np.abs(true_second - true_first)
    difference = np.where(np.isnan(true_first) & np.isnan(true_second), 0.0, difference)
    bound = go(broadcast_bound(subject.bounds(case).out, first.values)) + broadcast_bound(
        subject.bounds(other).out, second.values
    )
    bound = bound + difference
    compare(second, first, bound, what, go, where)
    require_true_finiteness(second, true_second, bound, what, where)


def require_true_finiteness(
    got: Result, truth: NDArray, bound: NDArray, what: str, where: NDArray | None
) -> None:  # fmt: skip
    """Raise where a finite truth came back as NaN or infinity: two calls that fail alike do not agree."""
    judged = np.isfinite(truth) & np.isfinite(bound)
    require_finite(got, what, where=judged if where is None else judged & where)


def identity(a: NDArray) -> NDArray:
    """The move that moves nothing."""
    return a


def broadcast_bound(bound: NDArray, like: NDArray) -> NDArray:
    """A bound as an array of the output's shape."""
    return np.broadcast_to(bound, like.shape)


def same_gradients(
    subject: Subject, case: Case, other: Case, what: str, *, cotangent: NDArray | None = None,
    other_cotangent: NDArray | None = None, want: tuple[str, ...] = ("query", "key", "value"),
    moves: dict[str, Move] | None = None, where: dict[str, NDArray] | None = None,
) -> None:  # fmt: skip
    """The gradients for `other` are the (moved) gradients for `case`, within both budgets and the truth's difference.

    Elements whose budget is infinite (rows where softmax cannot be recomputed) are judged for finiteness alone.
    """
    down = case.cotangent() if cotangent is None else cotangent
    other_down = down if other_cotangent is None else other_cotangent
    first, second = subject.backward(case, down, want), subject.backward(other, other_down, want)
    masked = "mask" in want
    true_first = subject.true_gradients(case, down, masked)
    true_second = subject.true_gradients(other, other_down, masked)
    limits = subject.gradient_bounds(case, down, true_first, masked)
    other_limits = subject.gradient_bounds(other, other_down, true_second, masked)
    for name in want:
        go: Move = (moves or {}).get(name, identity)
        before, after = go(getattr(true_first, name)), getattr(true_second, name)
        bound = go(getattr(limits, name)) + getattr(other_limits, name) + np.abs(after - before)
        chosen = (where or {}).get(name)
        message = f"{what}: gradient of {name}"
        try:
            compare(second.gradients[name], first.gradients[name], bound, message, go, chosen)
        except Violation as violation:
            if violation.evidence.kind == "pair" or chosen is not None:
                raise
            sides = (second.gradients[name], after, getattr(other_limits, name)), (
                first.gradients[name], getattr(true_first, name), getattr(limits, name)
            )  # fmt: skip
            raise wrong_side(violation, message, sides) from None
        require_true_finiteness(second.gradients[name], after, bound, message, chosen)


def wrong_side(
    violation: Violation, what: str, sides: tuple[tuple[Result, NDArray, NDArray], ...]
) -> Violation:  # fmt: skip
    """Of two calls that do not agree in a sum of elements, the one that is wrong, against the truth.

    The snippet of such a pair could only hold the other call's number, and that may be the wrong one. If both were
    within their budgets, the sums would agree within the sum of these.
    """
    for result, true, limit in sides:
        try:
            require_close(result, true, limit, f"{what}: two calls do not agree, and this one is wrong")
        except Violation as found:
            return found
    return violation


def compare(second: Result, first: Result, bound: NDArray, what: str, go: Move, where: NDArray | None) -> None:
    """`require_same` for the moved first result; the evidence shows both calls wherever one element moved to one."""
    moved = go(first.values)
    if moved is first.values and second.values.shape == first.values.shape:
        require_same(second, first, bound, what, where=where)
        return
    try:
        require_close(second, moved, bound, what, where=where)
    except Violation as violation:
        raise Violation(violation.message, from_both(violation.evidence, second, first, go)) from None


def from_both(evidence: Evidence, second: Result, first: Result, go: Move) -> Evidence:
    """The evidence as a pair of calls, found by moving the places of the first result like its values."""
    index = second.canonical(evidence.calls[0].index)
    places = go(np.arange(first.values.size, dtype=float).reshape(first.values.shape))
    place = float(np.broadcast_to(places, second.values.shape)[index])
    if not (place.is_integer() and 0 <= place < first.values.size):
        return evidence
    source = np.unravel_index(int(place), first.values.shape)
    if first.values[source] != evidence.want:
        return evidence  # the element comes from several, as in a sum
    calls = (evidence.calls[0], first.show(tuple(int(i) for i in source)))
    return Evidence(calls, evidence.got, evidence.want, evidence.bound, "pair")


def require_multiple(second: Result, first: Result, factor: float, bound: NDArray, what: str) -> None:
    """The second result is `factor` times the first; the evidence shows both calls."""
    try:
        require_close(second, factor * first.values, bound, what)
    except Violation as violation:
        old = violation.evidence
        calls = (old.calls[0], first.show(second.canonical(old.calls[0].index)))
        raise Violation(
            violation.message, Evidence(calls, old.got, old.want, old.bound, "pair", times=factor)
        ) from None
