"""Laws of position tables: `f(n, d) -> (n, d)`, sinusoidal in kind: what depends on positions depends on distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_core.conformance.laws.rotation import SINGLE, angle_error
from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Refused,
    Result,
    Shown,
    Violation,
    require_close,
    require_finite,
    require_same,
)
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import (
    ParameterCase,
    ParameterSubject,
    Sizes,
    as_in_models,
    require_sizes,
    supports,
)
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import Implementation

CONTRACT = "position-table"


def base_of(subject: ParameterSubject) -> float:
    """The declared base of the frequencies."""
    return float(subject.parameters.get("base", 10000.0))


def width_of(subject: ParameterSubject, d: int) -> int:
    """What exponents are divided by: d, or d - 2 where the last frequency is declared to be 1/base itself."""
    return max(d - 2, 1) if frequencies(subject.implementation) == "inclusive" else d


def frequencies(implementation: Implementation) -> str:
    """The declared frequencies: the paper's base^(-2c/d), "inclusive" base^(-2c/(d - 2)), or "other" ones."""
    return str(implementation.parameters.get("frequencies", "paper"))


def entry_bound(subject: ParameterSubject, n: int, d: int) -> NDArray:
    """Error of the entries at each position, for angles in float32 (see `angle_error`), whatever the columns' order:
    sine and cosine change by at most the angle's error and are rounded once, at 2 u as libraries promise."""
    angle = angle_error(np.arange(n)[:, None], width_of(subject, d), base_of(subject)).max(axis=1, initial=0.0)
    return np.asarray(angle + 2 * SINGLE)


def gram_of(table: Result, start: int = 0, first: int | None = None) -> Result:
    """Inner products of a table's rows from `start` on, of the `first` of them with all (without it, of all)."""
    rows = table.values[start:]
    gram = Result(rows[:first] @ rows.T, table.request)
    gram.expression = lambda p, q: (
        f"sum(float(x) * float(y) for x, y in zip({{out}}[{p + start}], {{out}}[{q + start}]))"
    )
    return gram


def gram_bound(subject: ParameterSubject, n: int, d: int, first: int | None = None) -> NDArray:
    """|y'.z' - y.z| <= d (e_p + e_q + e_p e_q) for entries at most 1, and the float64 product's own rounding."""
    e = entry_bound(subject, n, d)
    left = e[:first, None]
    return np.asarray(d * (left + e[None, :] + left * e[None, :]) + d * (d + 2) * 2.0**-52)


def inner_products_are_sums_of_cosines(subject: ParameterSubject, case: ParameterCase) -> None:
    """The inner product of two rows is the sum of cosines of their distance times each frequency.

    Formula: PE(p) . PE(q) = sum_c cos((p - q) base^(-2c/d)), in whatever order the columns stand; declared
        inclusive, base^(-2c/(d - 2)); of an odd d the last frequency has a sine, a cosine or 0 alone
    Source: Vaswani et al., "Attention Is All You Need", section 3.5; cos a cos b + sin a sin b = cos(a - b)
    Fault: exponent_by_column
    """
    odd = case.seed % ODD == 0 and case["d"] % 2 and frequencies(subject.implementation) == "paper"
    _require_cosines(subject, case, case["d"] if odd else 2 * case["half"])


def _require_cosines(subject: ParameterSubject, case: ParameterCase, d: int, first: int | None = None) -> None:
    n = case["n"]
    gram = gram_of(subject.call(n, d, shape=(n, d)), first=first)
    distance = np.arange(n)[:first, None] - np.arange(n)
    frequency = base_of(subject) ** (-2.0 * np.arange(-(-d // 2)) / width_of(subject, d))
    want = np.cos(distance[..., None] * frequency[: d // 2]).sum(-1)
    if d % 2:
        want = want + nearest_of_one_column(gram.values - want, np.arange(n) * frequency[-1], first)
    require_close(gram, want, gram_bound(subject, n, d, first), "inner products of rows")


def nearest_of_one_column(rest: NDArray, angle: NDArray, first: int | None = None) -> NDArray:
    """What the last column of an odd size adds to inner products: that of its sines, cosines or zeros nearest to it."""
    columns = (np.sin(angle), np.cos(angle), np.zeros_like(angle))
    products = [np.outer(column[:first], column) for column in columns]
    return min(products, key=lambda product: float(np.abs(rest - product).max(initial=0.0)))


def long_tables_go_on(subject: ParameterSubject, case: ParameterCase) -> None:
    """A table of several hundred positions, or of 8,192, goes on as it began.

    Formula: PE(p) . PE(q) = sum_c cos((p - q) base^(-2c/d)), p below 16, n up to 8192
    Source: as inner_products_are_sums_of_cosines
    Fault: table_repeats_after_512
    """
    _require_cosines(
        subject, case, 2 * case["half"], first=16
    )  # a few rows determine all others; every pair would cost a second


def inner_products_depend_on_the_distance(subject: ParameterSubject, case: ParameterCase) -> None:
    """The inner product of two rows depends on their distance alone.

    Formula: PE(p) . PE(p + k) is the same for every p
    Source: Vaswani et al., section 3.5; shenweichen/DeepCTR#379 (an exponent by column)
    Fault: exponent_by_column
    """
    n, d = case["n"], 2 * case["half"]
    if n < 3:
        raise NotApplicable
    table = subject.call(n, d, shape=(n, d))
    bound = gram_bound(subject, n, d)
    here, moved = gram_of(table), gram_of(table, start=1)
    here.values = here.values[:-1, :-1]
    require_same(moved, here, bound[1:, 1:] + bound[:-1, :-1], "inner products one position on")


def a_table_is_a_prefix_of_a_longer_one(subject: ParameterSubject, case: ParameterCase) -> None:
    """A longer table begins with the shorter one.

    Formula: f(n, d) = f(n + m, d)[:n]
    Source: a position's code does not depend on how many follow
    Fault: scaled_by_length
    """
    n, d = case["n"], case["d"]
    require_sizes(subject.implementation, ParameterCase({"n": n + case["half"], "d": d}))
    short, long = subject.call(n, d, shape=(n, d)), subject.call(n + case["half"], d, shape=(n + case["half"], d))
    long.values = long.values[:n]
    require_same(short, long, 2 * entry_bound(subject, n, d)[:, None], "table against a longer table's start")


def every_size_is_served(subject: ParameterSubject, case: ParameterCase) -> None:
    """Every size is served, odd ones included, with numbers in [-1, 1]; or an odd size is refused in so many words.

    Formula: f(n, d) has shape (n, d), |entries| <= 1; or raises ValueError, TypeError, NotImplementedError
    Source: gc-os-ai/pyaptamer#607 (odd sizes)
    Fault: even_sizes_only
    """
    n, d = case["n"], 2 * case["half"] - 1
    if not supports(subject.implementation, ParameterCase({"n": n, "d": d})):
        raise NotApplicable("odd widths are not declared")
    request = subject.request(n, d)
    try:
        table = subject.result(request, (n, d))
    except Refused as refusal:
        if not str(refusal).startswith("RuntimeError"):  # shapes that do not fit by accident
            raise
        message = f"f({n}, {d}) raised {refusal}, but should be a table (or refused by a ValueError)"
        raise Violation(message, Evidence((Shown(request),), kind="crash")) from None
    require_finite(table, "position table")
    clipped = np.clip(table.values, -1, 1)
    require_close(table, clipped, 2 * SINGLE, "position table against its range [-1, 1]")


def positions_are_told_apart(subject: ParameterSubject, case: ParameterCase) -> None:
    """Two positions have different rows.

    Formula: p != q implies PE(p) != PE(q)
    Source: what a position code is for
    Fault: constant_table
    """
    n, d = case["n"], max(case["d"], 2)
    require_sizes(subject.implementation, ParameterCase({"n": n, "d": d}))
    table = subject.call(n, d, shape=(n, d))
    gap = np.abs(table.values[:, None] - table.values[None]).max(-1) + np.eye(n)
    distinct = Result((gap > 0).astype(float), table.request)
    distinct.expression = lambda p, q: f"float(({{out}}[{p}] != {{out}}[{q}]).any())"
    require_close(distinct, np.ones((n, n)), 0.0, "whether rows differ")


def _of_the_paper(implementation: Implementation) -> bool:
    return frequencies(implementation) in ("paper", "inclusive")


def _beyond_usual_tables(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Mostly 8,192 positions, which show what shorter tables hide; some fewer, where longer ones are refused.

    In a third as many features as models have, of some hundred positions.
    """
    if rng.random() < WIDE_SHARE:
        return {**sizes, "n": int(rng.integers(301, 700)), "half": int(rng.integers(33, 81))}
    sizes, share = {**sizes, "half": min(sizes["half"], 3)}, rng.random()
    if share < 0.5:
        return {**sizes, "n": 8192}
    for most, low, high in ((0.6, 4097, 4160), (0.7, 2049, 2112), (0.8, 1025, 1100), (0.95, 513, 640)):
        if share < most:
            return {**sizes, "n": int(rng.integers(low, high + 1))}
    return sizes


WIDE_SHARE = 0.35
"""Of long tables, how many are wide as well."""
ODD = 3
"""Of so many cases of an odd size, one is of that size; all others are of even ones."""
MODELS = {"d": (65, 160), "half": (33, 80)}
SPACE = Sizes({"n": (2, 200), "d": (1, 40), "half": (1, 20)}, adjust=as_in_models(MODELS))
LONG = Sizes({"n": (250, 512), "d": (1, 1), "half": (1, 80)}, adjust=_beyond_usual_tables)
ROW: dict[str, Any] = {"contract": CONTRACT, "large": 24, "small": 0, "space": SPACE}
LAWS = (
    Law(
        inner_products_are_sums_of_cosines, "position_table", **ROW, central=True,
        declares=_of_the_paper, because="other frequencies than the paper's are declared",
    ),
    Law(
        long_tables_go_on, "position_table", **{**ROW, "space": LONG, "large": 12},
        declares=_of_the_paper, because="other frequencies than the paper's are declared",
    ),
    *(
        Law(check, "position_table", **ROW)
        for check in (
            inner_products_depend_on_the_distance,
            a_table_is_a_prefix_of_a_longer_one,
            every_size_is_served,
            positions_are_told_apart,
        )
    ),
)  # fmt: skip
COMPARISONS = ("long_tables_go_on",)
