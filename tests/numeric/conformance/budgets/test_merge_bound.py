"""The budget of a merge of given parts: no right arithmetic leaves it, and a wrong one by a few roundings does."""

from __future__ import annotations

import numpy as np
import pytest

from attention_core import oracle
from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.budgets.merge_bound import GivenErrors, merge_bound, merge_gradient_bound


def parts(seed: int, number: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    lses = round_to(spread * rng.standard_normal((number, 40)), "float32")
    lses[0, :5] = -np.inf
    return round_to(rng.standard_normal((number, 40, 3)), "float32"), lses


def in_float32(outs: np.ndarray, lses: np.ndarray, way: str) -> tuple[np.ndarray, np.ndarray]:
    """A merge in one go, part by part, or with shares by the total, in float32."""
    o, x = outs.astype(np.float32), lses.astype(np.float32)
    if way == "part by part":
        out, lse = o[0], x[0]
        for more, height in zip(o[1:], x[1:], strict=True):
            new = np.logaddexp(lse, height)
            out = np.exp(lse - new)[:, None] * out + np.exp(height - new)[:, None] * more
            lse = new
        return out, lse
    top = x.max(0)
    mass = np.exp(x - top)
    total = top + np.log(mass.sum(0))
    share = np.exp(x - total) if way == "by the total" else mass / mass.sum(0)
    return (share[..., None] * o).sum(0), total


@pytest.mark.parametrize("way", ["in one go", "part by part", "by the total"])
@pytest.mark.parametrize("number", [2, 3, 9])
@pytest.mark.parametrize("spread", [0.1, 3.0, 1000.0])
def test_right_merges_stay_within_it(way: str, number: int, spread: float) -> None:
    worst = 0.0
    for seed in range(20):
        outs, lses = parts(seed, number, spread)
        truth = oracle.merge(outs, lses)
        bounds = merge_bound(outs, lses, truth, dtype="float32", accumulate="input")
        out, lse = in_float32(outs, lses, way)
        worst = max(worst, (np.abs(out - truth[0]) / bounds.out).max(), (np.abs(lse - truth[1]) / bounds.lse).max())
    assert 0.005 < worst <= 1, worst


def test_a_right_merge_of_large_log_sum_exps_uses_nearly_all_of_it() -> None:
    """The rounding of a total of 4100 moves all shares alike, up to the budget: no tighter one is right."""
    worst = [0.0, 0.0]
    for seed in range(20):
        rng = np.random.default_rng(seed)
        lses = round_to(rng.standard_normal((2, 40)) - 4100, "float32")
        outs = round_to(1 + rng.random((2, 40, 3)), "float32")
        truth = oracle.merge(outs, lses)
        bounds = merge_bound(outs, lses, truth, dtype="float32", accumulate="input")
        out, lse = in_float32(outs, lses, "by the total")
        ratios = (np.abs(out - truth[0]) / bounds.out).max(), (np.abs(lse - truth[1]) / bounds.lse).max()
        worst = [max(pair) for pair in zip(worst, ratios, strict=True)]
    assert 0.9 < worst[0] <= 1 and 0.4 < worst[1] <= 1, worst


def test_an_error_of_half_a_thousandth_of_a_share_leaves_it() -> None:
    outs, lses = parts(0, 3, 3.0)
    truth = oracle.merge(outs, lses)
    bounds = merge_bound(outs, lses, truth, dtype="float32", accumulate="input")
    off = oracle.merge(outs, lses + np.array([[5e-4], [0], [0]]))[0]
    assert (np.abs(off - truth[0]) > bounds.out).any()


def test_errors_of_the_parts_go_through() -> None:
    outs, lses = parts(1, 2, 1.0)
    truth, how = oracle.merge(outs, lses), {"dtype": "float32", "accumulate": "input"}
    errors = GivenErrors(np.full(outs.shape, 1e-3), np.full(lses.shape, 1e-4))
    bounds = merge_bound(outs, lses, truth, **how, given=errors)
    moved = oracle.merge(outs + 1e-3, lses + np.array([[1e-4], [-1e-4]]))
    assert (np.abs(moved[0] - truth[0]) <= bounds.out).all() and (np.abs(moved[1] - truth[1]) <= bounds.lse).all()
    assert (bounds.out > merge_bound(outs, lses, truth, **how).out).all()


@pytest.mark.parametrize("of", ["out", "lse"])
def test_gradients_of_the_oracle_are_differences_and_lie_in_their_budget(of: str) -> None:
    outs, lses = parts(2, 3, 1.0)
    c = np.random.default_rng(3).standard_normal((40, 3) if of == "out" else (40,))
    gradients = oracle.merge_gradients(outs, lses, **{of: c})
    step = 1e-6

    def loss(outs: np.ndarray, lses: np.ndarray) -> float:
        return float((oracle.merge(outs, lses)[("out", "lse").index(of)] * c).sum())

    for x, g in ((outs, gradients[0]), (lses, gradients[1])):
        for index in [(1, 7), (0, 20), (2, 39), (0, 2)]:
            index = (*index, 1) if x.ndim == 3 else index
            if not np.isfinite(x[index]):
                assert g[index] == 0
                continue
            up, down = x.copy(), x.copy()
            up[index] += step
            down[index] -= step
            pair = [(a, lses) if x is outs else (outs, a) for a in (up, down)]
            assert g[index] == pytest.approx((loss(*pair[0]) - loss(*pair[1])) / (2 * step), abs=1e-7)
    truth = oracle.merge(outs, lses)
    bounds = merge_bound(outs, lses, truth, dtype="float32", accumulate="input")
    limits = merge_gradient_bound(outs, c, bounds, gradients, "float32", of_lse=of == "lse")
    for g, limit in zip(gradients, limits, strict=True):
        assert limit.shape == g.shape and (np.abs(round_to(g, "float32") - g) <= limit).all()
        assert limit[:, 6:].max() < 1e-3


def test_empty_rows_have_gradient_zero() -> None:
    outs, lses = np.ones((2, 1, 2)), np.full((2, 1), -np.inf)
    assert [x.any() for x in oracle.merge_gradients(outs, lses, out=np.ones((1, 2)), lse=np.ones(1))] == [False, False]
