"""Code and documents hold together.

The budget's formulas in the code against those of the documents, read from there and computed in ball arithmetic.
Change a formula in one place alone, and this fails; every document and step that the code names exists.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from attention_core import oracle
from attention_core.conformance.budgets import budget
from attention_core.conformance.budgets.error_rows import block_count, float_format, gamma, sum_count
from attention_core.conformance.budgets.second_budget import _roundings, second_bound
from tests.numeric.document_values import HOME, sides_of, value_of

PACKAGE = Path(budget.__file__).resolve().parents[1]
LARGE = 2.0**20
REFERENCE = re.compile(r"derivations/(\w+\.md)(?:,?\s+(\([\w-]+(?:, [\w-]+)*\)(?: and \([\w-]+\))?))?")


def references() -> list[tuple[str, str, str]]:
    """(file, document, step) for every step that the code names."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent.name == "derivation":
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            for document, steps in REFERENCE.findall(line):
                if not steps and "Source:" not in line:
                    continue
                found += [
                    (path.name, document, step) for step in re.findall(r"[\w-]+", steps.replace(" and ", " ")) or [""]
                ]
    return found


def test_every_source_names_a_step_that_exists() -> None:
    named = references()
    assert len(named) > 90
    ids = {
        path.name: set(re.findall(r"\\tag\{([^}]*)\}", path.read_text(encoding="utf-8")))
        for path in HOME.glob("*.md")
        if path.name in {document for _, document, _ in named}
    }
    missing = [(file, document, step) for file, document, step in named if step not in ids.get(document, ())]
    assert not missing


@pytest.mark.parametrize(("n", "blocks"), [(1, None), (7, 1), (40, None), (100, 9), (100, 100), (5000, 3)])
def test_counts_are_those_of_the_document(n: int, blocks: int | None) -> None:
    B = block_count(n, blocks)
    assert sum_count(n, blocks) == value_of("error_budget.md", "one-row", "N", {"n": n, "B": B, "d": 1}, {})


def test_gamma_is_that_of_the_document() -> None:
    given = {"x": 0.5}
    for n, m in ((1, 1), (3, 2), (9, 4)):
        unit = 0.5 / (n + m + 1)
        assert gamma(n, unit) == pytest.approx(
            value_of("error_budget.md", "gamma", r"\frac{n u}{1 - n u}", {"n": n, "m": m}, given), rel=1e-14
        )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("accumulate", ["input", "float32"])
@pytest.mark.parametrize(("n", "d", "blocks"), [(1, 1, None), (3, 2, None), (5, 3, 2)])
def test_one_row_has_the_bound_of_the_document(dtype: str, accumulate: str, n: int, d: int, blocks: int | None) -> None:
    rng = np.random.default_rng(n)
    query = rng.integers(-4, 5, (1, 1, d)) / 64
    key = rng.integers(-4, 5, (1, n, d)) / 4
    value = rng.integers(-8, 9, (1, n, 1)) / 4
    truth = oracle.attention(query, key, value, scale=1.0)
    found = budget.forward_bound(query, key, value, truth, scale=1.0, dtype=dtype, accumulate=accumulate, blocks=blocks)
    fmt = float_format(dtype, accumulate)
    given = {
        "u": fmt.u, "a": fmt.a, "w": fmt.w, "y": fmt.native, "f": fmt.flush, "s": truth.scores.ravel().tolist(),
        "S": (np.abs(query) @ np.abs(key).swapaxes(-1, -2)).ravel().tolist(), "v": value.ravel().tolist(),
    }  # fmt: skip
    sizes = {"n": n, "d": d, "B": block_count(n, blocks)}
    # The code adds underflow to the magnitudes as well, relatively 2^-14 at most in float16 and far less elsewhere.
    near = 2.0**-9 if dtype == "float16" else 1e-9
    for step, symbol, bound in (("one-row", "E", found.out), ("one-row-lse", "F", found.lse)):
        wanted = value_of("error_budget.md", step, symbol, sizes, given)
        assert wanted > 0 and float(np.ravel(bound)[0]) == pytest.approx(wanted, rel=near, abs=0.0), symbol


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("accumulate", ["input", "float32"])
@pytest.mark.parametrize("n", [1, 2, 5, 0])  # 0: two keys, of which one has a weight near what underflow takes
def test_the_gradients_of_one_row_have_the_bounds_of_the_document(dtype: str, accumulate: str, n: int) -> None:
    rng = np.random.default_rng(10 + n)
    query = rng.integers(-4, 5, (1, 1, 1)) / 64
    key = rng.integers(-4, 5, (1, n, 1)) / 4 if n else np.array([[[0.0], [-1024.0]]])
    value = rng.integers(-8, 9, (1, n or 2, 1)) / 4
    query = query if n else np.full((1, 1, 1), 1 / 64)
    n = n or 2
    cotangent = np.full((1, 1, 1), 0.75)
    truth = oracle.attention(query, key, value, scale=1.0)
    gradients = oracle.gradients(query, key, value, cotangent, scale=1.0)
    how = {"scale": 1.0, "dtype": dtype, "accumulate": accumulate}
    found = budget.backward_bound(query, key, value, cotangent, truth, gradients, **how)
    by_lse = budget.lse_backward_bound(query, key, cotangent[..., 0], truth, **how)
    fmt = float_format(dtype, accumulate)
    inside = budget.forward_bound(query, key, value, truth, **how).inside
    assert inside is not None
    leads = inside.rows.may_lead.ravel()
    given = {
        "t": leads.tolist(), "\\zeta": np.abs(key.ravel() if leads.sum() > 1 else key.ravel()[leads]).max(),
        "u": fmt.u, "a": fmt.a, "w": fmt.w, "y": fmt.native, "f": fmt.flush, "z": fmt.flush_between, "s": truth.scores.ravel(),
        "S": (np.abs(query) @ np.abs(key).swapaxes(-1, -2)).ravel(), "v": value.ravel(), "x": 0.75,
        "q": query.item(), "k": key.ravel(),
    }  # fmt: skip
    near = 2.0**-9 if dtype == "float16" else 1e-9  # as above
    for i in range(n):
        sizes = {"n": n, "d": 1, "B": 1, "i": i + 1}
        compared = {"V_i": found.value, "K_i": found.key, "Y_i": by_lse[1]}
        for symbol, bound in compared.items():
            wanted = value_of("error_budget.md", "one-row-lse-key", symbol, sizes, given)
            assert wanted > 0 and bound.ravel()[i] == pytest.approx(wanted, rel=near, abs=0.0), symbol
    for symbol, bound in (("Q", found.query), ("J", by_lse[0])):
        wanted = value_of("error_budget.md", "one-row-lse-key", symbol, sizes, given)
        assert wanted > 0 and bound.item() == pytest.approx(wanted, rel=near, abs=0.0), symbol


def test_the_distance_of_second_derivatives_is_that_of_the_document() -> None:
    """One key has the weight 1: M of the second derivatives of the value is |dO| times the scores' and their three means'."""
    q, k, v, wq, wk, wv, cotangent = (np.full((1, 1, 1), x) for x in (LARGE, LARGE, -2.0, 0.25, -0.75, 1.0, 2.0))
    truth = oracle.attention(q, k, v, scale=1.0)
    found = second_bound((q, k, v), cotangent, (wq, wk, wv), truth, scale=1.0)
    rho, floor = _roundings((abs(q), abs(k), abs(v)), abs(cotangent), (abs(wq), abs(wk), abs(wv)), truth, None, 1.0)
    assert rho > 1e-3  # so that 1 - rho counts
    M = (1 + 3) * (0.25 + 0.75) * LARGE * 2.0
    wanted = value_of("second_gradients.md", "distance", r"\frac{2 \rho}{1 - \rho} h", {}, {"\\rho": rho, "h": M})
    assert found.value.item() == pytest.approx(wanted, rel=1e-12) and floor < wanted * 1e-12
    right = sides_of("second_gradients.md", "distance", {}, {"\\rho": rho, "h": M, "M": 1.0}, number=3)[1]
    assert right.item() == wanted


def test_second_order_roundings_are_those_of_the_document() -> None:
    rng = np.random.default_rng(1)
    n, m, d, r = 3, 5, 2, 4
    q, k, v = (rng.standard_normal(shape) for shape in ((1, n, d), (1, m, d), (1, m, r)))
    truth = oracle.attention(q, k, v)
    given = tuple(np.abs(x) for x in (q, k, v))
    factor = 1 / math.sqrt(d)
    rho, _ = _roundings(given, np.abs(truth.out), given, truth, None, factor)  # type: ignore[arg-type]
    unit = 2.0**-53
    size = factor * (given[0] @ given[1].swapaxes(-1, -2))
    largest = (d + 8) * unit * size + 8 * unit * (1 + np.abs(truth.scores) + np.abs(truth.lse)[..., None])
    wanted = value_of(
        "second_gradients.md", "rho-second", "k", {"d": d, "r": r, "m": m, "h": n},
        {"e_{0}": float(largest.max()), "x": unit},
    )  # fmt: skip
    # Both are about 1e-13 and computed as differences from 1 in the code: 2^-52 of 1 is 1e-3 of that.
    assert rho == pytest.approx(wanted, abs=8 * 2.0**-52)
