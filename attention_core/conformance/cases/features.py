"""What a call may ask for beside a case, and how such a call is posed as a plain problem of masks and one soft cap.

A window and lengths of keys are masks, ALiBi is a bias, and a sink is a key of a given score and the value 0. The
plain problem that a call poses has the same truth, so that its truth, its gradients and their budgets are those of
masked attention (derivations/features.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets.rounding import round_to
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.near import neighbours
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.features import PAIRS, SYMMETRIC, WINDOWS, fit_cap, sides_of

Sides = tuple[int, int]
OTHER_CORNER = {"top_left": "bottom_right", "bottom_right": "top_left"}


@dataclass(frozen=True, eq=False)
class Features:
    """What a call asks for beside its case; None where it does not.

    Args:
        window: (left, right), keys to either side of the query's own; -1 for any number.
        softcap: c of c tanh(s / c), where s is a scaled score.
        sinks: (H,), scores that count in the normaliser and have no value.
        alibi_slopes: (H,), what a score falls by for every key between it and the query.
        key_lengths: (B,), how many keys each sequence has; those after do not count.
    """

    window: Sides | None = None
    softcap: float | None = None
    sinks: NDArray | None = None
    alibi_slopes: NDArray | None = None
    key_lengths: NDArray | None = None

    def with_(self, **changes: Any) -> Features:
        """A copy with some features changed."""
        return replace(self, **changes)

    def given(self) -> dict[str, Any]:
        """The features of the call, by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if getattr(self, name) is not None}

    def describe(self) -> str:
        """The features in a few words."""
        return " and ".join(f"{name.replace('_', ' ')} {short(value)}" for name, value in self.given().items())


def short(value: Any) -> str:
    """A value in a few words: three numbers of an array at most.

    Example:
        >>> short((2, -1)), short(1.5), short(np.array([1.0, 2.0, 3.0, 4.0]))
        ('(2, -1)', '1.5', '[1, 2, 3, ...]')
    """
    if not isinstance(value, np.ndarray):
        return str(value)
    return f"[{', '.join(f'{x:g}' for x in value[:3])}{', ...' if len(value) > 3 else ''}]"


@dataclass(frozen=True, eq=False)
class Posed:
    """A call as a plain problem.

    Args:
        case: neither causal nor anything but masked; of a call with sinks, with one key and value more, which are 0.
        dead: (B, H, n_q), rows that may attend no key of the call.
        softcap: the cap of the problem's scores, before its mask.
        computed_bias: whether the target computes the mask's numbers itself.
    """

    case: Case
    dead: NDArray
    softcap: float | None = None
    computed_bias: bool = False


def lengths_of(case: Case, features: Features) -> list[int]:
    """How many keys each sequence has."""
    return [case.sizes[1]] * case.query.shape[0] if features.key_lengths is None else [*map(int, features.key_lengths)]


def starts(case: Case, features: Features, alignment: str) -> NDArray:
    """At which key the first query of each sequence stands, (B, 1, 1, 1)."""
    lengths = np.array(lengths_of(case, features))
    return (lengths - case.sizes[0] if alignment == "bottom_right" else 0 * lengths)[:, None, None, None]


def distances(case: Case, features: Features, alignment: str) -> NDArray:
    """How far each key lies after each query, (B, 1, n_q, n_kv)."""
    n_q, n_kv = case.sizes[:2]
    return np.asarray(starts(case, features, alignment) + np.arange(n_q)[:, None] - np.arange(n_kv))


def visible(case: Case, features: Features, alignment: str) -> NDArray:
    """Which key a query may attend by mask, causality, window and lengths: broadcastable to (B, H, n_q, n_kv)."""
    n_q, n_kv = case.sizes[:2]
    sequences = []
    for length in lengths_of(case, features):
        allow = np.zeros((n_q, n_kv), dtype=bool)
        length = min(length, n_kv)  # that of a null model may be larger
        seen = oracle.text_mask(n_q, length, is_causal=case.is_causal, sides=features.window, alignment=alignment)
        allow[:, :length] = True if seen is None else seen
        sequences.append(allow)
        if features.key_lengths is None:
            break
    return np.asarray(oracle.allowed(n_q, n_kv, case.mask) & np.stack(sequences)[:, None])


def pose(case: Case, features: Features, alignment: str, behind: NDArray | None = None) -> Posed:
    """The plain problem of a call.

    Args: behind: how far a key lies after a query, (n_q, n_kv), for windows and slopes; None as it is. Null models
        give another: a window that is counted along a whole pack, say.
    """
    windowed = features if behind is None else features.with_(window=None)
    allow = visible(case, windowed, alignment)
    if behind is not None and features.window is not None:
        left, right = features.window
        allow = allow & ((left < 0) | (behind <= left)) & ((right < 0) | (behind >= -right))
    dead = np.broadcast_to(~allow.any(axis=-1), case.query.shape[:-1])
    bias: NDArray | None = None
    if case.mask is not None and case.mask.dtype != bool:
        bias = np.where(np.isneginf(case.mask), 0.0, case.mask)
    if features.alibi_slopes is not None:
        behind = distances(case, features, alignment) if behind is None else behind
        bias = (0.0 if bias is None else bias) - features.alibi_slopes[:, None, None] * np.abs(behind)
    mask = allow if bias is None else np.where(allow, bias, -np.inf)
    posed = case.with_(mask=mask, is_causal=False)
    if features.sinks is not None:
        posed = with_sink(posed, features.sinks)
    return Posed(posed, dead, features.softcap, features.alibi_slopes is not None)


def with_sink(case: Case, sinks: NDArray) -> Case:
    """A masked case with one key more, whose score is its head's sink and whose value is 0 (sink-key)."""
    assert case.mask is not None
    shape = (*case.query.shape[:-1], case.sizes[1] + 1)
    mask = np.empty(shape)
    mask[..., :-1] = np.where(case.mask, 0.0, -np.inf) if case.mask.dtype == bool else case.mask
    mask[..., -1] = sinks[:, None]
    key, value = (np.concatenate([x, np.zeros_like(x[..., :1, :])], axis=-2) for x in (case.key, case.value))
    if not case.sizes[1]:
        key, value = (np.zeros((*x.shape[:-2], 1, x.shape[-1])) for x in (case.key, case.value))
    return case.with_(mask=mask, key=key, value=value)


# --- drawing ------------------------------------------------------------------------------------------------------

WIDTHS = (0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 63, 64)


def fit_sides(kind: str, sides: Sides) -> Sides | None:
    """Sides as a window of a kind can have them, as near as it comes; None where none of its numbers means them.

    Example:
        >>> fit_sides("sides", (2, -1)), fit_sides("last", (2, -1)), fit_sides("around", (-1, -1))
        ((2, -1), (2, 0), None)
    """
    if kind == "sides":
        return sides
    if kind in PAIRS:
        return None if sides == (-1, -1) else (max(sides[0], 0), max(sides[1], 0))
    return None if sides[0] < 0 else sides_of(kind, sides[0] - WINDOWS[kind][0])


def draw_window(case: Case, kind: str, rng: np.random.Generator) -> Sides:
    """Sides that hide some keys of a case where that is possible, as a window of this kind can have them."""
    n_kv = case.sizes[1]
    near = [w + step for w in neighbours(case.near) for step in (-1, 0)] if case.near else []
    widths = [w for w in near if w < n_kv - 1] or [w for w in WIDTHS if w < n_kv - 1] or [0]
    left, right = (int(rng.choice(widths)) for _ in range(2))
    if kind not in PAIRS:
        width = left + 1
        sides = sides_of(kind, width)
        return sides
    if kind == "sides" and rng.random() < 0.5:
        return (left, -1) if rng.random() < 0.5 else (-1, right)
    return left, right


def draw_softcap(case: Case, rng: np.random.Generator, whole: bool | None = False) -> float:
    """A cap near the largest score of a case, in two digits.

    Args: whole: whether the target takes whole numbers alone; None where it may, and half of the caps are.
    """
    key = np.repeat(case.key, case.group, axis=-3)
    peak = float(np.abs(case.factor * (case.query @ key.swapaxes(-1, -2))).max(initial=0.0))
    cap = float(f"{max(peak, 0.5) * rng.choice([0.25, 0.5, 1.0, 2.0]):.2g}")
    return fit_cap(cap, bool(rng.integers(2)) if whole is None else whole)


def draw_sinks(case: Case, lse: NDArray, rng: np.random.Generator) -> NDArray:
    """A score for each head near the log-sum-exps (B, H, n_q) of a case, some far below."""
    live = np.where(np.isfinite(lse), lse, np.nan)
    with np.errstate(all="ignore"):
        middle = np.nan_to_num(np.nanmean(np.where(np.isnan(live), 0.0, live), axis=(0, 2)))
    drawn = np.clip(middle, -1e3, 1e3) + rng.normal(0.0, 1.5, size=middle.shape)
    return round_to(np.rint(4 * drawn) / 4 if case.is_plain else drawn, case.dtype)


def draw_slopes(case: Case, rng: np.random.Generator) -> NDArray:
    """A slope for each head, powers of two that differ from head to head where that is possible."""
    return np.asarray(2.0 ** -(1 + (rng.permutation(case.sizes[4]) + int(rng.integers(6))) % 6).astype(float))


def draw_lengths(case: Case, rng: np.random.Generator, *, empty: bool = False) -> NDArray:
    """A number of keys for each sequence, some of which is less than all; 0 among them where `empty`."""
    n_kv, batch = case.sizes[1], case.query.shape[0]
    lengths = np.asarray(rng.integers(0 if empty else min(1, n_kv), n_kv + 1, size=batch))
    last = max(n_kv - int(rng.integers(1, 4)), 0 if empty else min(1, n_kv))
    near = [n for n in neighbours(case.near) if n <= n_kv] if case.near else []
    lengths[int(rng.integers(batch))] = int(rng.choice(near)) if near else last
    return lengths


# --- null models --------------------------------------------------------------------------------------------------


def windows_gone_wrong(features: Features, kind: str) -> Iterator[tuple[str, Features]]:
    """A window that is ignored, one key too wide or too narrow, or on the other side."""
    assert features.window is not None
    left, right = features.window
    yield "window ignored", features.with_(window=None)
    wider = (left + (left >= 0), right + (right > 0 or kind in SYMMETRIC))
    yield "window one key wider", features.with_(window=wider)
    if left > 0:
        yield "window one key narrower", features.with_(window=(left - 1, right))
    if left != right:
        yield "window on the other side", features.with_(window=(right, left))


def caps_gone_wrong(features: Features, kind: str) -> Iterator[tuple[str, Features]]:
    """A cap that is ignored, or of twice the size."""
    assert features.softcap is not None
    yield "softcap ignored", features.with_(softcap=None)
    yield "softcap twice as high", features.with_(softcap=2 * features.softcap)


def sinks_gone_wrong(features: Features, kind: str) -> Iterator[tuple[str, Features]]:
    """Sinks that are ignored, 0, of the other sign, or another head's."""
    sinks = features.sinks
    assert sinks is not None
    yield "sinks ignored", features.with_(sinks=None)
    yield "sinks of 0", features.with_(sinks=np.zeros_like(sinks))
    yield "sinks of the other sign", features.with_(sinks=-sinks)
    if len(sinks) > 1:
        yield "sinks of the next head", features.with_(sinks=np.roll(sinks, 1))


def slopes_gone_wrong(features: Features, kind: str) -> Iterator[tuple[str, Features]]:
    """Slopes that are ignored, of the other sign, halved, or another head's."""
    slopes = features.alibi_slopes
    assert slopes is not None
    yield "slopes ignored", features.with_(alibi_slopes=None)
    yield "slopes of the other sign", features.with_(alibi_slopes=-slopes)
    yield "slopes halved", features.with_(alibi_slopes=slopes / 2)
    if len(slopes) > 1:
        yield "slopes of the next head", features.with_(alibi_slopes=np.roll(slopes, 1))


def lengths_gone_wrong(features: Features, kind: str) -> Iterator[tuple[str, Features]]:
    """Lengths that are ignored, one too large or too small, or another sequence's."""
    lengths = features.key_lengths
    assert lengths is not None
    yield "key lengths ignored", features.with_(key_lengths=None)
    yield "one key more", features.with_(key_lengths=lengths + 1)
    yield "one key less", features.with_(key_lengths=np.maximum(lengths - 1, 0))
    if len(lengths) > 1:
        yield "lengths of the next sequence", features.with_(key_lengths=np.roll(lengths, 1))


Wrong = Callable[[Features, str], Iterator[tuple[str, Features]]]
NULLS: Mapping[str, Wrong] = {
    "window": windows_gone_wrong, "softcap": caps_gone_wrong, "sinks": sinks_gone_wrong,
    "alibi_slopes": slopes_gone_wrong, "key_lengths": lengths_gone_wrong,
}  # fmt: skip
"""Feature -> the features of calls that get it wrong, by the name of what they get wrong."""
