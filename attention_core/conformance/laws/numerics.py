"""Laws of floating point: what large, tiny, low-precision and non-finite numbers must not do to a result.

A kernel may round as its budget says; it may not overflow, cancel or stagnate where that can be avoided. Factors of
inputs at the edges of a format are powers of two, so that what they scale stays exact.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.budgets.budget import HUGE, UNIT_ROUNDOFF, round_to
from attention_core.conformance.budgets.rounding import SMALLEST_NORMAL
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.laws.expected import finite_rows, limit
from attention_core.conformance.laws.pairs import same_output
from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Result,
    Violation,
    require_close,
    require_finite,
)
from attention_core.conformance.subjects.law import Law, needs
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


SURE = 2.0**-10
"""A weight above this is not rounded to zero in any format, so what it multiplies enters the result."""


def stays_finite(subject: Subject, case: Case) -> None:
    """Large logits stay finite: the running maximum is taken out before the exponential.

    Formula: max_j |s_ij| = 2^13 implies f(x) finite and |f(x) - truth| <= E_o(x)
    Source: derivations/online_softmax.md (shift)
    Fault: no_max_subtraction
    """
    big = case.with_(query=case.query * enlarging(case))
    where = finite_rows(subject, big)
    out = subject.forward(big).out
    require_finite(out, "output for large logits", where=where)
    require_close(out, subject.truth(big).out, limit(subject, big), "output for large logits", where=where)


def products_beyond_float16_are_numbers(subject: Subject, case: Case) -> int:
    """Where sums are taken in float32, float16 inputs may have dot products beyond 65504: they are scaled, then used.

    Formula: 65504 < max_j |q_i . k_j| <= 2^17 implies f(x) finite and |f(x) - truth| <= E_o(x; float32)
    Source: derivations/error_budget.md (output)
    Fault: product_overflows_in_float16
    """
    big, beyond = beyond_half(case)
    where = finite_rows(subject, big) & beyond[..., None]
    if not where.any():
        raise NotApplicable
    out = subject.forward(big).out
    require_finite(out, "output for dot products beyond 65504", where=where)
    what = "output for dot products beyond 65504"
    require_close(out, subject.truth(big).out, limit(subject, big), what, where=where)
    return int(where.any(axis=(-2, -1)).sum())


def long_sums_keep_their_precision(subject: Subject, case: Case) -> None:
    """Sums over many keys are taken wider than bfloat16 and float16, the normaliser as well as the output.

    Formula: |f(x) - truth| <= E_o(x) with sums in float32, for nearly equal weights and positive values
    Source: derivations/error_budget.md (gamma)
    Fault: sums_in_low_precision
    """
    # Equal signs and near-equal weights: nothing cancels, so a running sum outgrows its terms and stagnates.
    flat = case.with_(query=case.query * 2.0**-5, value=np.abs(case.value) + 1.0)
    flat = flat.with_(query=round_to(flat.query, case.dtype), value=round_to(flat.value, case.dtype))
    if case.rng("large values").random() < 0.4:  # their sum over the keys is beyond float16, their mean is not
        room = HUGE[case.dtype] / 4 / max(1.0, float(flat.value.max(initial=0.0)))
        flat = flat.with_(value=flat.value * 2.0 ** min(40.0, np.floor(np.log2(room))))
    where = finite_rows(subject, flat)
    bound = limit(subject, flat)
    require_close(
        subject.forward(flat).out,
        subject.truth(flat).out,
        bound,
        "output of a long positive sum",
        where=where,
    )


def low_precision_rounds_as_declared(subject: Subject, case: Case) -> int:
    """In low precision the error stays within the budget of the declared accumulation, score by score.

    Formula: |f(x) - truth| <= E_o(x; accumulate) for scores of size 8 in bfloat16 and float16
    Source: derivations/error_budget.md (gamma)
    Fault: scores_rounded_to_input
    """
    out, truth, bound = subject.forward(case).out, subject.truth(case), limit(subject, case)
    where = finite_rows(subject, case)
    ratio = require_close(out, truth.out, bound, "output in low precision against the float64 truth", where=where)
    subject.record_ratio(case, "out", ratio)
    # A slice says something where its budget is below the spread of its values; else any mean passes.
    spread = np.repeat(case.value.max(axis=-2, keepdims=True) - case.value.min(axis=-2, keepdims=True), case.group, -3)
    return int((where & (4 * bound < spread)).any(axis=(-2, -1)).sum())


def a_common_offset_cancels(subject: Subject, case: Case) -> None:
    """A large number common to all scores of a row changes nothing, of either sign.

    Formula: s'_ij = s_ij + C for all j implies f(x') = f(x), for C up to 2^13
    Source: derivations/online_softmax.md (shift)
    Fault: logits_clipped
    """
    plain = case.with_(key=first_feature(case.key, 0.0))
    size = round_power(offset_size(subject, case) / abs(case.factor))
    each = case.rng("sign").choice([-1.0, 1.0], size=case.query.shape[:-1])
    # The offset is a product c * c' of one feature, so that no rounding of the other features hides in it.
    part = 2.0 ** np.floor(np.log2(size) / 2)
    moved = case.with_(query=first_feature(case.query, each * size / part), key=first_feature(case.key, part))
    same_output(
        subject, plain, moved, f"output with scores moved by {size * abs(case.factor):g} in every row",
        where=finite_rows(subject, plain) & finite_rows(subject, moved),
    )  # fmt: skip


def a_bias_constant_in_a_row_cancels(subject: Subject, case: Case) -> None:
    """A number added to the bias of a whole row changes nothing.

    Formula: b'_ij = b_ij + c_i for all j implies f(x') = f(x)
    Source: derivations/laws.md (constant-bias)
    Fault: bias_as_factor
    """
    assert case.mask is not None
    n_q, n_kv = case.sizes[:2]
    full = np.broadcast_to(case.mask, (*case.query.shape[:-2], n_q, n_kv))
    size = round_power(offset_size(subject, case))
    shift = case.rng("shift").integers(-4, 5, size=(*case.query.shape[:-1], 1)) * size / 4
    moved = case.with_(mask=round_to(full + shift, case.dtype))
    same_output(
        subject, case, moved, f"output with up to {size:g} added to the bias of a row",
        where=finite_rows(subject, case) & finite_rows(subject, moved),
    )  # fmt: skip


def zeros_and_subnormals_are_numbers(subject: Subject, case: Case) -> None:
    """Zero queries, keys or values and subnormal ones give finite outputs within the budget.

    Formula: |f(x) - truth| <= E_o(x) with q, k or v zero or below the smallest normal number
    Source: derivations/error_budget.md (output)
    Fault: rows_normalised
    """
    changed = tiny_parts(case)
    where = finite_rows(subject, changed)
    out = subject.forward(changed).out
    require_finite(out, "output for zeros and subnormals", where=where)
    require_close(
        out,
        subject.truth(changed).out,
        limit(subject, changed),
        "output for zeros and subnormals",
        where=where,
    )


def garbage_is_not_turned_into_a_number(subject: Subject, case: Case) -> int:
    """NaN or infinity in what a row attends to is not silently turned into a clean number.

    Formula: truth_ic not finite through a weight or score of row i implies f(x)_ic not finite
    Source: derivations/error_budget.md (output)
    Fault: nan_to_num
    """
    dirty, place = with_garbage(case)
    truth = subject.truth(dirty)
    bad = ~np.isfinite(truth.out) & ~truth.dead[..., None]
    if place == "value":  # through a weight that no format rounds to zero
        clean = subject.truth(case)
        wrong = ~np.isfinite(np.repeat(dirty.value, case.group, axis=-3))
        bad &= np.where(clean.weights > SURE, 1.0, 0.0) @ wrong.astype(float) > 0
    else:  # a score of -inf looks like a masked one, NaN and +inf can
        bad &= (np.isnan(truth.scores) | (truth.scores == np.inf)).any(axis=-1, keepdims=True)
    if not bad.any():
        raise NotApplicable("no row attends to what is not finite")
    out = subject.forward(dirty).out
    require_not_finite(out, bad, f"output of a row with NaN or infinity in its {place}")
    return int(bad.any(axis=(-2, -1)).sum())


def require_not_finite(got: Result, where: NDArray, what: str) -> None:
    """Raise where a value is finite and should not be."""
    hidden = where & np.isfinite(got.values)
    if not hidden.any():
        return
    index = tuple(int(i) for i in np.argwhere(hidden)[0])
    g = float(got.values[index])
    shown = ", ".join(map(str, index))
    raise Violation(
        f"{what}: got {g:.9g} at [{shown}], but should be NaN (or infinite): the input was garbage",
        Evidence((got.show(index),), g, float("nan"), 0.0),
    )


LOW = ("bfloat16", "float16")
LONG = Space(
    masks=("none",), causal=(False,), dtypes=LOW, min_kv=127, regimes=("normal", "integers", "near_ties"),
    grouped=False, small=False,
)  # fmt: skip

LAWS = (
    Law(stays_finite, "numerics", large=4, small=8),
    Law(
        products_beyond_float16_are_numbers, "numerics", space=Space(dtypes=("float16",), max_n=33), large=3, small=4,
        declares=lambda i: i.accumulate != "input", because="sums are declared to be taken in the inputs' dtype",
    ),
    Law(long_sums_keep_their_precision, "numerics", space=LONG, large=3, small=0),
    Law(
        low_precision_rounds_as_declared, "numerics", large=4, small=0,
        space=Space(dtypes=LOW, regimes=("normal", "peaked", "integers"), small=False),
    ),
    Law(a_common_offset_cancels, "numerics", large=4, small=8),
    Law(
        a_bias_constant_in_a_row_cancels, "numerics", needs=needs("attn_mask"),
        space=Space(masks=("float", "finite")), large=3, small=8,
    ),
    Law(zeros_and_subnormals_are_numbers, "numerics", large=4, small=8),
    Law(garbage_is_not_turned_into_a_number, "numerics", space=Space(max_n=129), large=5, small=10),
)  # fmt: skip
