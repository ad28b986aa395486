"""Laws of score biases by distance (ALiBi): `f(H, n_q, n_kv) -> (H, n_q, n_kv)`, added to the scores.

A constant added to a whole row changes no softmax, so rows are compared after taking out their own last live entry;
keys after the query are not judged, causality hides them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets.budget import UNIT_ROUNDOFF
from attention_core.conformance.subjects.evidence import Result, require_close, require_same
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import (
    ParameterCase,
    ParameterSubject,
    Sizes,
    require_sizes,
)
from attention_core.conformance.worker.exchange import NDArray

CONTRACT = "bias"
SINGLE = UNIT_ROUNDOFF["float32"]


def slopes_of(subject: ParameterSubject, heads: int) -> NDArray:
    """The declared slopes: the paper's rule, or "geometric" for 2^(-8h/H) at any H."""
    if subject.parameters.get("slopes", "paper") == "geometric":
        return 2.0 ** (-8.0 * np.arange(1, heads + 1) / heads)
    return oracle.alibi_slopes(heads)


def relative_rows(subject: ParameterSubject, case: ParameterCase) -> tuple[Result, NDArray, NDArray]:
    """The bias with each row's own diagonal entry taken out, the distances i - j, and where j <= i."""
    heads, n_q, n_kv = case["H"], case["n_q"], case["n_kv"]
    found = subject.call(heads, n_q, n_kv, shape=(heads, n_q, n_kv))
    own = np.arange(n_q) + n_kv - n_q
    distance = own[:, None] - np.arange(n_kv)
    found.values = less_its_own(found.values, own)
    found.expression = lambda h, i, j: f"float({{out}}[{h}, {i}, {j}]) - float({{out}}[{h}, {i}, {own[i]}])"
    return found, distance, distance >= 0


def less_its_own(values: NDArray, own: NDArray) -> NDArray:
    """Every row minus its entry at the query's own position; later keys may hold -inf."""
    with np.errstate(invalid="ignore"):
        return np.asarray(values - values[:, np.arange(len(own)), own][..., None])


def difference_bound(subject: ParameterSubject, case: ParameterCase) -> NDArray:
    """Error of a difference of two entries m (c - i + j), |c - i + j| <= n_q + n_kv: each holds a power (2 u, as
    libraries promise), its product with the first slope and the product with the distance, (1 + u)^4 - 1 < 5 u."""
    slopes = slopes_of(subject, case["H"])
    return np.asarray(2 * 5 * SINGLE * slopes[:, None, None] * (case["n_q"] + case["n_kv"]))


def bias_falls_by_its_slope(subject: ParameterSubject, case: ParameterCase) -> None:
    """The bias falls linearly with distance, by the head's slope.

    Formula: b_ij - b_ii = -m_h (i - j)
    Source: Press et al., "Train Short, Test Long", section 3
    Fault: slopes_off_by_one
    """
    found, distance, past = relative_rows(subject, case)
    want = -slopes_of(subject, case["H"])[:, None, None] * distance
    require_close(found, want, difference_bound(subject, case), "bias relative to its row", where=past)


def weight_falls_with_distance(subject: ParameterSubject, case: ParameterCase) -> None:
    """With equal content, nearer keys get more weight.

    Formula: j < j' <= i implies b_ij < b_ij'
    Source: meta-pytorch/attention-gym PR86 (sign flipped)
    Fault: sign_flipped
    """
    found, _, past = relative_rows(subject, case)
    with np.errstate(invalid="ignore"):  # later keys may hold -inf
        steps = Result(np.sign(np.diff(found.values, axis=-1)), found.request)
    steps.expression = lambda h, i, j: (
        f"float({{out}}[{h}, {i}, {j}] < {{out}}[{h}, {i}, {j + 1}]) - "
        f"float({{out}}[{h}, {i}, {j}] > {{out}}[{h}, {i}, {j + 1}])"
    )
    ones = np.ones(steps.values.shape)
    require_close(steps, ones, 0.0, "sign of the bias's step towards the query", where=past[:, 1:])


def bias_depends_on_distance_alone(subject: ParameterSubject, case: ParameterCase) -> None:
    """Two pairs at one distance have the same bias, up to their rows' constants.

    Formula: b_ij - b_ii = b_{i+1,j+1} - b_{i+1,i+1}
    Source: Press et al., section 3
    Fault: bias_by_absolute_position
    """
    found, _, past = relative_rows(subject, case)
    whole = found.expression
    assert whole is not None
    upper = Result(found.values[:, :-1, :-1], found.request, expression=whole)
    lower = Result(found.values[:, 1:, 1:], found.request, expression=lambda h, i, j: whole(h, i + 1, j + 1))
    bound = 2 * difference_bound(subject, case)
    require_same(lower, upper, bound, "bias one row on", where=past[:-1, :-1])


def last_row_serves_decoding(subject: ParameterSubject, case: ParameterCase) -> None:
    """Fewer queries than keys are the last rows of the full bias, as decoding needs.

    Formula: f(H, n_q, n_kv) = f(H, n_kv, n_kv)[:, -n_q:] up to row constants
    Source: keras-team/keras-hub#2861 (the bias vanishes when decoding)
    Fault: bias_built_over_query_length
    """
    n_q, n_kv = case["n_q"], case["n_kv"]
    require_sizes(subject.implementation, case.with_(n_q=n_kv))
    found, _, past = relative_rows(subject, case)
    full, _, _ = relative_rows(subject, case.with_(n_q=n_kv))
    full.values, whole, first = full.values[:, n_kv - n_q :], full.expression, n_kv - n_q
    assert whole is not None
    full.expression = lambda h, i, j: whole(h, i + first, j)
    bound = difference_bound(subject, case) + difference_bound(subject, case.with_(n_q=n_kv))
    require_same(found, full, bound, "bias of the last rows", where=past)


def _decoding(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """No more queries than keys, a single one often; head counts that are not a power of two half of the time."""
    sizes["n_q"], sizes["n_kv"] = sorted((sizes["n_q"], sizes["n_kv"]))
    if rng.random() < 0.3:
        sizes["n_q"] = 1
    if rng.random() < 0.5:
        power = int(rng.choice([2, 4, 8, 16, 16, 32, 32, 64]))  # each with any number of further slopes
        sizes["H"] = power + int(rng.integers(1, power))
    if rng.random() < 0.1:  # distances that a low precision does not hold
        sizes["n_kv"] = int(rng.integers(258, 600))
    elif rng.random() < 0.25:  # the same where a target is judged at equal lengths alone
        return {**sizes, "H": min(sizes["H"], 4), "n_q": (n := int(rng.integers(129, 300))), "n_kv": n}
    return sizes


def _several_rows(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    sizes = _decoding(sizes, rng)
    sizes["n_q"] = max(sizes["n_q"], 2)
    return sizes


SPACE = Sizes(
    {"H": (1, 17), "n_q": (1, 24), "n_kv": (2, 24)},
    adjust=_decoding, related=lambda sizes: sizes["n_q"] <= sizes["n_kv"],
)  # fmt: skip
ROWS = replace(SPACE, adjust=_several_rows, related=lambda sizes: 2 <= sizes["n_q"] <= sizes["n_kv"])
ROW: dict[str, Any] = {"contract": CONTRACT, "large": 20, "small": 0, "space": SPACE}
LAWS = (
    Law(bias_falls_by_its_slope, "bias", **ROW, central=True),
    Law(weight_falls_with_distance, "bias", **ROW),
    Law(bias_depends_on_distance_alone, "bias", **{**ROW, "space": ROWS}),
    Law(last_row_serves_decoding, "bias", **ROW),
)
