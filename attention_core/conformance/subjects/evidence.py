"""What a law says when it refuses: a `Violation` with the calls that show it, and the comparisons that raise one.

Checkers raise, they never return a bool. The message form is "got X, but should be Y [the call that did it]".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context
from typing import Any

import numpy as np

from attention_core.conformance.worker.exchange import NDArray, Request


@dataclass(frozen=True)
class Shown:
    """One call of a counterexample and the element of its result that matters.

    `quantity` is "out", "out1" (second result), "grad:NAME" or "second:NAME"; `index` in the target's own axis order.
    `expression` makes the number in question out of `{out}` where it is not an element of the result.
    """

    request: Request
    quantity: str = "out"
    index: tuple[int, ...] = ()
    expression: str = ""
    missing: bool = False  # whether no gradient came at all, where 0 is read
    declined: bool = False  # whether the target declines the call, which a program goes on after


@dataclass(frozen=True)
class Evidence:
    """Everything a snippet and a report need: the calls, what was got and wanted at one element, and the bound.

    `before` holds calls whose results do not matter, but that must be made first for the failure to show.
    Of a pair, the first call's element should be `times` the second's. What shares memory is shown by writing `want`
    into the result. For "process" the expression of the call reads what it changed, for "seeds" it names the generator.
    """

    calls: tuple[Shown, ...]
    got: float | None = None
    want: float | None = None
    bound: float | None = None
    kind: str = "value"
    # value | pair | raises | must_raise | nonfinite | crash | shape | mutated | shares | again | process | seeds
    before: tuple[Shown, ...] = ()
    times: float = 1.0
    event: str = ""  # what happened where it says nothing about the law at hand: see `responses.EVENTS`
    no_grad: bool = False  # whether the calls give something else where gradients are left on
    alone: bool = True  # whether the calls fail where no other call was made before; False only where that was tried


class Violation(Exception):
    """A law is broken; `evidence` shows where.

    `case` is the problem that fails by itself where the law drew it in place of its case: see `Case.given`.
    """

    def __init__(self, message: str, evidence: Evidence) -> None:
        super().__init__(message)
        self.message = message
        self.evidence = evidence
        self.case: Any = None


class Refused(Exception):
    """The target declined a case by an exception that the contract allows.

    Attributes:
        request: the call that was declined, where it is known.
        before: the calls of the same object that were answered before it.
    """

    def __init__(self, message: str = "", request: Request | None = None) -> None:
        super().__init__(message)
        self.request = request
        self.before: tuple[Result, ...] = ()


class NotApplicable(Exception):
    """This case cannot say anything about this law."""


@dataclass
class Result:
    """One returned array in canonical axis order, with the call it came from.

    `place` maps a canonical index to the target's own (for snippets), `back` the other way round; `heads` maps a
    canonical head to the target's.
    """

    values: NDArray
    request: Request
    quantity: str = "out"
    place: Callable[[tuple[int, ...]], tuple[int, ...]] | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    expression: Callable[..., str] | None = None  # of an index: how `{out}` gives the value there
    heads: Sequence[int] | None = None
    head_axis: int = 1
    back: Callable[[tuple[int, ...]], tuple[int, ...]] | None = None

    def show(self, index: tuple[int, ...]) -> Shown:
        own = index if self.heads is None else self._at_head(index, self.heads[index[self.head_axis]])
        moved = own if self.place is None else self.place(own)
        message = "" if self.expression is None else self.expression(*index)
        return Shown(self.request, self.quantity, tuple(int(i) for i in moved), message, self.missing)

    def canonical(self, moved: tuple[int, ...]) -> tuple[int, ...]:
        """The inverse of the move in `show`: from the target's own axis order and heads."""
        index = moved if self.back is None else self.back(moved)
        return index if self.heads is None else self._at_head(index, list(self.heads).index(index[self.head_axis]))

    def _at_head(self, index: tuple[int, ...], head: int) -> tuple[int, ...]:
        return (*index[: self.head_axis], head, *index[self.head_axis + 1 :])

    @property
    def missing(self) -> bool:
        """Whether no gradient came, which stands for zeros."""
        return bool(self.extra.get("missing"))


def excess(got: NDArray, want: NDArray, bound: NDArray) -> NDArray:
    """|got - want| / bound elementwise; inf where one side is not finite and the other differs, 0 where unjudged.

    A bound of inf means not judged. NaN equals NaN only, an infinity only itself.
    """
    with np.errstate(all="ignore"):
        difference = np.abs(got - want)
        ratio = difference / bound
        ratio = np.where(difference <= bound, np.where(bound > 0, ratio, 0.0), np.where(bound > 0, ratio, np.inf))
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    unusual = ~np.isfinite(got) | ~np.isfinite(want)
    ratio = np.where(same, 0.0, np.where(unusual, np.inf, ratio))
    ratio = np.where(np.isnan(ratio), np.inf, ratio)
    return np.where(np.isposinf(bound) & ~unusual, 0.0, ratio)


def usual_excess(got: NDArray, want: NDArray, bound: NDArray) -> NDArray | None:
    """`excess` where all differences are finite and all bounds finite and above 0, which they mostly are; else None."""
    if not 0 < bound.min() <= bound.max() < np.inf:
        return None
    with np.errstate(all="ignore"):
        difference = np.abs(got - want)
        if not difference.max() < np.inf:
            return None
        return np.asarray(difference / bound)


def round_up(bound: float) -> str:
    """An allowed error in three digits, rounded up: reports and programs name this one number.

    >>> round_up(1.751e-36), round_up(0.125), round_up(0.0), round_up(float("inf"))
    ('1.76e-36', '0.125', '0', 'inf')
    """
    if not 0 < bound < float("inf"):
        return f"{bound:.3g}"
    return f"{float(Context(prec=3, rounding=ROUND_CEILING).create_decimal_from_float(bound)):.3g}"


def require_close(
    got: Result, want: NDArray, bound: NDArray | float, what: str, *, where: NDArray | None = None
) -> float:
    """Raise unless |got - want| <= bound at every element (where `where` is true).

    Returns the largest error/bound ratio. NaN in `got` or `want` passes only against NaN.
    """
    values = got.values
    want, limits = np.broadcast_to(want, values.shape), np.broadcast_to(np.asarray(bound, float), values.shape)
    if values.size == 0:
        return 0.0
    ratio = usual_excess(values, want, limits)
    if ratio is None:
        ratio = excess(values, want, limits)
    if where is not None:
        ratio = np.where(np.broadcast_to(where, values.shape), ratio, 0.0)
    worst = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    if ratio[worst] <= 1:
        return float(ratio[worst])
    index = tuple(int(i) for i in worst)
    g, w, b = float(values[index]), float(want[index]), float(limits[index])
    shown = ", ".join(map(str, index))
    numbers = (
        (f"{g:.9g}", f"{w:.9g}") if f"{g:.9g}" != f"{w:.9g}" else (repr(g), repr(w))
    )  # all digits where they matter
    numbers = ("no gradient (None, read as 0)" if got.missing else numbers[0], numbers[1])
    message = f"{what}: got {numbers[0]} at [{shown}], but should be {numbers[1]} (allowed error {round_up(b)})"
    raise Violation(message, Evidence((got.show(index),), g, w, b))


def require_same(
    got: Result, other: Result, bound: NDArray | float, what: str, *, where: NDArray | None = None
) -> float:
    """`require_close` between two calls of the target with equal shapes; the evidence shows both calls."""
    try:
        return require_close(got, other.values, bound, what, where=where)
    except Violation as violation:
        first = violation.evidence.calls[0]
        second = other.show(got.canonical(first.index))
        old = violation.evidence
        raise Violation(violation.message, Evidence((first, second), old.got, old.want, old.bound, "pair")) from None


def require_finite(got: Result, what: str, *, where: NDArray | None = None) -> None:
    """Raise where a value is NaN or infinite."""
    bad = ~np.isfinite(got.values)
    if where is not None:
        bad &= np.broadcast_to(where, bad.shape)
    if not bad.any():
        return
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    g = float(got.values[index])
    shown = ", ".join(map(str, index))
    raise Violation(
        f"{what}: got {g} at [{shown}], but should be finite", Evidence((got.show(index),), g, None, None, "nonfinite")
    )
