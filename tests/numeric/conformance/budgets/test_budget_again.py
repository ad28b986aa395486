"""Tests of attention_core.conformance.budgets.budget against budget_again.

The budget in arrays and the budget in loops are two writings of one document, and must give the same numbers.
A sign, a count, an axis or a dtype that differs between them shows here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from attention_core import oracle
from attention_core.conformance.budgets import budget
from tests.numeric.budget_again import Again, gamma, last

KINDS = ["plain", "grouped", "bias", "masked", "dead", "large", "garbage", "underflow", "overflow"]


def problem(kind: str, dtype: str, seed: int) -> tuple[Any, Any, Any, Any, Any, float | None]:
    """Queries, keys, values (with a batch of one), mask, cotangent and scale: small, rounded to the dtype."""
    rng = np.random.default_rng(seed)
    H, H_kv = (4, 2) if kind in ("grouped", "dead") else (2, 2)
    q, k, v = rng.normal(size=(1, H, 3, 2)), rng.normal(size=(1, H_kv, 5, 2)), rng.normal(size=(1, H_kv, 5, 3))
    cot = rng.normal(size=(1, H, 3, 3))
    mask, scale = None, None if seed % 2 else 1.75
    if kind == "bias":
        shape = (H, 1, 5) if seed % 2 else (H, 3, 5)
        mask = np.where(rng.random(shape) < 0.3, -np.inf, 3 * rng.normal(size=shape))
        mask[:, :, 0] = 0.5
    if kind in ("masked", "dead", "overflow"):
        mask = rng.random((3, 5)) < 0.6
        mask[:, 1] = True
    if kind == "dead":
        mask[1] = False
    if kind == "large":
        q[0, 0, 1] *= 2.0**9 if dtype in ("bfloat16", "float16") else 2.0**28
    if kind == "garbage":
        v[0, 1, 2, 0], mask = np.nan, np.tril(np.ones((3, 5), dtype=bool))
    if kind == "underflow":
        q, k, v, cot = (x * budget.FLUSH[dtype] ** 0.5 for x in (q, k, v, cot))
    if kind == "overflow":
        v[0, 0] *= budget.HUGE[dtype] / 8
    q, k, v, cot = (budget.round_to(x, dtype) for x in (q, k, v, cot))
    return q, k, v, mask if mask is None or mask.dtype == bool else budget.round_to(mask, dtype), cot, scale


def same(found: Any, wanted: Any, name: str, dtype: str = "float32") -> None:
    """Equal but for roundings of float64: those of (1 + x)(1 + y) - 1 with x near u are a few 2^-53.

    That is below 1e-8 of the smallest x where u is 2^-24, and a quarter of the bounds of float64 themselves, which
    are some twenty roundings.
    """
    near = 0.25 if dtype == "float64" else 1e-7
    np.testing.assert_allclose(found, np.asarray(wanted).reshape(np.shape(found)), rtol=near, err_msg=name)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("accumulate", ["input", "float32"])
@pytest.mark.parametrize("kind", KINDS)
def test_forward_bounds_are_those_of_the_loops(kind: str, dtype: str, accumulate: str) -> None:
    for seed, blocks in ((0, None), (1, 2), (2, 3)):
        q, k, v, mask, _, scale = problem(kind, dtype, seed)
        for dead_rows in ("zeros", "uniform"):
            truth = oracle.attention(q, k, v, mask, scale=scale, dead_rows=dead_rows)
            how: dict[str, Any] = {
                "mask": mask,
                "scale": scale,
                "dtype": dtype,
                "accumulate": accumulate,
                "blocks": blocks,
            }
            again = Again(q[0], k[0], v[0], truth, **how)
            wanted = [again.out(h, i, dead_rows == "uniform") for h, i in again.rows]
            for declared in (dead_rows, None):
                found = budget.forward_bound(q, k, v, truth, dead_rows=declared, **how)
                for number, name in enumerate(("out", "lse", "exact", "finite")):
                    same(getattr(found, name), [row[number] for row in wanted], f"{name} {seed} {dead_rows}", dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("accumulate", ["input", "float32"])
@pytest.mark.parametrize("kind", KINDS)
def test_backward_bounds_are_those_of_the_loops(kind: str, dtype: str, accumulate: str) -> None:
    for seed, dead_rows in ((0, "zeros"), (1, "uniform")):
        q, k, v, mask, cot, scale = problem(kind, dtype, seed)
        truth = oracle.attention(q, k, v, mask, scale=scale, dead_rows=dead_rows)
        asked = mask is not None and mask.dtype != bool
        true = oracle.gradients(q, k, v, cot, mask, scale=scale, truth=truth, want_mask=asked, dead_rows=dead_rows)
        how: dict[str, Any] = {"mask": mask, "scale": scale, "dtype": dtype, "accumulate": accumulate}
        found = budget.backward_bound(q, k, v, cot, truth, true, want_mask=asked, dead_rows=dead_rows, **how)
        again = Again(q[0], k[0], v[0], truth, **how)
        errors = again.backward(cot[0])
        add_dead_rows(errors["value"], again, cot[0], dead_rows)
        for name, count in (("query", 3), ("key", 3), ("value", 1)):
            same(
                getattr(found, name), lasting(errors[name], getattr(true, name), count, again), f"{name} {seed}", dtype
            )
        same(found.exact, errors["judged"], "exact")
        same(found.finite, [row.finite or row.dead for row in again.rows.values()], "finite")
        assert (found.mask is None) == (not asked)
        if asked:
            shared = 3 // mask.shape[1]  # queries that one number of the mask serves
            error = errors["ds_error"] + np.where(errors["leads"], errors["lead"][..., None], 0.0)
            error = error + gamma(shared, again.a) * (errors["ds"] + error)
            error = np.where(truth.scores[0] == -np.inf, 0.0, error)
            error = error.sum(axis=1) if shared > 1 else error
            same(found.mask, lasting(error, true.mask, 1, again), f"mask {seed}", dtype)


def lasting(errors: Any, truth: Any, count: int, again: Again) -> list[float]:
    """Every entry with its last roundings; those of queries and keys, three, are that of the scale and two more."""
    pairs = zip(np.ravel(errors), np.ravel(truth), strict=True)
    flush = again.flush * (max(1.0, again.scale) if count == 3 else 1.0)
    return [last(float(e), float(t), count, again.u, flush, again.huge) for e, t in pairs]


def add_dead_rows(errors: Any, again: Again, cot: Any, dead_rows: str) -> None:
    """What uniform dead rows pass to every value: the cotangent over n_kv."""
    if dead_rows != "uniform":
        return
    for g in range(errors.shape[0]):
        for c in range(errors.shape[2]):
            heads = range(g * again.G, (g + 1) * again.G)
            passed = sum(abs(cot[h, i, c]) for h in heads for i in range(again.n_q) if again.rows[h, i].dead)
            roundings = gamma(again.G * again.n_q + 4, again.a) + gamma(8, again.u)
            errors[g, :, c] += roundings * passed / again.n_kv + again.flush


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("accumulate", ["input", "float32"])
@pytest.mark.parametrize("kind", ["plain", "grouped", "bias", "masked", "dead", "large"])
def test_bounds_through_the_lse_are_those_of_the_loops(kind: str, dtype: str, accumulate: str) -> None:
    for seed in (0, 1):
        q, k, _, mask, cot, scale = problem(kind, dtype, seed)
        truth = oracle.attention(q, k, k, mask, scale=scale)
        how: dict[str, Any] = {"mask": mask, "scale": scale, "dtype": dtype, "accumulate": accumulate}
        size = np.abs(cot[0, ..., 0])
        again = Again(q[0], k[0], k[0], truth, **how)
        errors = again.backward(np.zeros_like(truth.out[0]))
        errors["query"][:], errors["key"][:] = 0.0, 0.0
        for (h, i), row in again.rows.items():
            keys = [j for j in range(again.n_kv) if truth.scores[0, h, i, j] != -math.inf]
            if not errors["judged"][h, i]:
                errors["query"][h, i], errors["key"][h // again.G, keys] = math.inf, math.inf
                continue
            p, wrong = again.weight_errors(h, i)
            g = gamma(3, again.u)
            whole = size[h, i] * sum(p[j] + wrong[j] for j in row.keys)
            errors["lead"][h, i] = again.error_of_largest(whole, 1)
            for j in row.keys:
                errors["ds"][h, i, j] = size[h, i] * p[j]
                errors["ds_error"][h, i, j] = size[h, i] * ((1 + g) * wrong[j] + g * p[j] + again.flush)
                again.add_query_and_key(errors, h, i, j)
        ds = np.where(np.isfinite(errors["ds"]), errors["ds"], 0.0)
        means = again.scale * np.einsum("hij,hjc->hic", ds, np.abs(np.repeat(k[0], again.G, 0)))
        sums = again.scale * np.einsum("hij,hic->hjc", ds, np.abs(q[0]))
        sums = sums.reshape(k.shape[1], again.G, *k.shape[2:]).sum(1)
        found = budget.lse_backward_bound(q, k, cot[..., 0], truth, **how)
        for name, bound, truths in zip(("query", "key"), found, (means, sums), strict=True):
            same(bound, lasting(errors[name], truths, 3, again), f"{name} {seed}", dtype)


def test_without_keys_a_dead_row_has_no_error() -> None:
    """The mean of nothing is 0, exactly, however dead rows are declared."""
    q, k, v = np.ones((1, 1, 2, 1)), np.ones((1, 1, 0, 1)), np.ones((1, 1, 0, 3))
    for dead_rows in ("zeros", "uniform"):
        truth = oracle.attention(q, k, v, dead_rows="zeros")
        found = budget.forward_bound(q, k, v, truth, dtype="float32", dead_rows=dead_rows)
        assert (found.out == 0).all() and (found.lse == 0).all() and found.finite.all()


def test_a_mean_that_is_zero_has_its_error_where_dead_rows_are_declared_means() -> None:
    """Values 1 and -1: their mean in a kernel may be a rounding away from 0; undeclared, 0 is the dead row's 0."""
    q, k, v = np.ones((1, 1, 1, 1)), np.ones((1, 1, 2, 1)), np.array([1.0, -1.0]).reshape(1, 1, 2, 1)
    mask = np.zeros((1, 2), dtype=bool)
    truth = oracle.attention(q, k, v, mask, dead_rows="uniform")
    how: dict[str, Any] = {"mask": mask, "dtype": "float32"}
    declared, guessed = (budget.forward_bound(q, k, v, truth, dead_rows=x, **how).out for x in ("uniform", None))
    again = Again(q[0], k[0], v[0], truth, mask=mask, scale=None, dtype="float32", accumulate="input")
    assert declared.item() == pytest.approx(again.dead_value(0, 0), rel=1e-7) and guessed.item() == 0
