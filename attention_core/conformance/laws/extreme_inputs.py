"""Inputs at the edges of a format: large scores, offsets, subnormals, and what is not a number.

Factors are powers of two, so that what they scale stays exact.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.budgets.budget import HUGE, UNIT_ROUNDOFF, round_to
from attention_core.conformance.budgets.rounding import SMALLEST_NORMAL
from attention_core.conformance.cases.case import Case
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray

LARGE = 2.0**13
"""Size of large scores: their exponentials overflow every format, their products fit into all of them."""


def round_power(x: float) -> float:
    """The largest power of two up to x."""
    return float(2.0 ** np.floor(np.log2(x)))


def enlarging(case: Case) -> NDArray:
    """Powers of two, (B, H, 1, 1), that bring the largest |scale| |q| . |k| of a problem just below LARGE."""
    key = np.repeat(np.abs(case.key), case.group, axis=-3)
    size = abs(case.factor) * (np.abs(case.query) @ key.swapaxes(-1, -2)).max(axis=(-2, -1), keepdims=True)
    # A kernel may scale the queries first; zero logits stay zero, whatever the queries.
    largest = np.abs(case.query).max(axis=(-2, -1), keepdims=True) * max(1.0, abs(case.factor))
    with np.errstate(divide="ignore", over="ignore"):
        # Half, since log2 rounds up just below a power of two, and twice the largest number is none.
        room = np.minimum(LARGE / size, HUGE[case.dtype] / 2 / largest)
        factor = np.exp2(np.floor(np.log2(room)))
    return np.where(np.isfinite(factor) & (size > 0), np.maximum(factor, 1.0), 1.0)


BEYOND_HALF = 2.0**17
"""Twice what float16 holds: a dot product of this size must be formed wider, and scaled it fits into anything."""
KEYS_BELOW = 2.0**6
"""Size of the keys of such a product: the rest, 2^11 and little more, is the query's."""


def beyond_half(case: Case) -> tuple[Case, NDArray]:
    """The case with dot products beyond float16, and the rows that have one, (B, H, n_q).

    Keys and queries are multiplied by powers of two, each small enough for the format, also if scaled first.
    """
    with np.errstate(divide="ignore"):
        up = np.floor(np.log2(KEYS_BELOW / np.abs(case.key).max(axis=(-2, -1), keepdims=True)))
    key = case.key * np.exp2(np.where(np.isfinite(up), up, 0.0))
    products = np.abs(case.query @ np.repeat(key, case.group, axis=-3).swapaxes(-1, -2))
    most = products.max(axis=(-2, -1), keepdims=True, initial=0.0)
    room = HUGE[case.dtype] / 2 / max(1.0, abs(case.factor))
    with np.errstate(divide="ignore"):
        factor = np.minimum(BEYOND_HALF / most, room / np.abs(case.query).max(axis=(-2, -1), keepdims=True))
        factor = np.exp2(np.floor(np.log2(factor)))
    factor = np.where(np.isfinite(factor), factor, 1.0)
    grown = case.with_(query=round_to(case.query * factor, case.dtype), key=round_to(key, case.dtype))
    return grown, (products * factor > HUGE[case.dtype]).any(axis=-1)


def offset_size(subject: Subject, case: Case) -> float:
    """How large an offset of scores may be: its rounding in what lies between, 4 u C, stays at 1/8."""
    narrow = subject.implementation.accumulate == "input"
    between = case.dtype if narrow or case.dtype == "float64" else "float32"
    return min(LARGE, 2.0**-5 / UNIT_ROUNDOFF[between])


def first_feature(x: NDArray, value: NDArray | float) -> NDArray:
    """A copy with another first feature in every row."""
    changed = x.copy()
    changed[..., 0] = value
    return changed


def tiny_parts(case: Case) -> Case:
    """The case with one part per key head made zero or subnormal: its queries, keys or values."""
    heads, kv_heads = case.sizes[4:]
    kinds = case.rng("tiny").integers(6, size=(case.query.shape[0], kv_heads))
    wide = np.repeat(kinds, heads // kv_heads, axis=1)[..., None, None]
    narrow = kinds[..., None, None]
    # Numbers near 1 become subnormal times this: a few bits are left of them.
    shrink = SMALLEST_NORMAL[case.dtype] * 2.0**-3
    query = np.where(wide == 0, 0.0, np.where(wide == 3, case.query * shrink, case.query))
    key = np.where(narrow == 1, 0.0, np.where(narrow == 4, case.key * shrink, case.key))
    value = np.where(narrow == 2, 0.0, np.where(narrow == 5, case.value * shrink, case.value))
    return case.with_(
        query=round_to(query, case.dtype), key=round_to(key, case.dtype), value=round_to(value, case.dtype)
    )


def with_garbage(case: Case) -> tuple[Case, str]:
    """The case with NaN or an infinity in one place of every problem, and the argument that holds it."""
    rng = case.rng("garbage")
    place = str(rng.choice(["query", "key", "value"]))
    kind = float(rng.choice([np.nan, np.nan, np.inf, -np.inf]))
    old = getattr(case, place)
    row = rng.integers(old.shape[-2], size=old.shape[:-2])
    feature = rng.integers(old.shape[-1], size=old.shape[:-2])
    b, h = np.ogrid[: old.shape[0], : old.shape[1]]
    new = old.copy()
    new[b, h, row, feature] = kind
    return case.with_(**{place: new}), place
