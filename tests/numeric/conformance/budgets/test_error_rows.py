"""The helpers of error rows against plain NumPy.

Merges by exp(lse - total): right ones conform where they are declared, wrong ones are refuted all the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from judging import held, judged, refuted

from attention_core import oracle
from attention_core.conformance import Implementation
from attention_core.conformance.budgets import budget
from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.budgets.error_rows import finite_part, float_format, merge_errors, part_count, rows_at
from attention_core.conformance.engine.session import Session
from attention_core.faults.correct import halves_merged_by_lse, parts_at_their_shares


@pytest.mark.parametrize("shape", [(2, 3, 5, 4), (1, 1, 1, 1), (7, 2), (0, 3, 5, 4)])
def test_whole_rows_are_those_that_take_along_axis_takes(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    index = rng.integers(shape[-2], size=(*shape[:-2], 6))
    assert np.array_equal(rows_at(x, index), np.take_along_axis(x, index[..., None], axis=-2))


def test_the_finite_part_is_the_array_itself_where_all_of_it_is_finite() -> None:
    x = np.array([1.0, -2.0])
    assert finite_part(x) is x
    assert finite_part(np.array([np.inf, np.nan, -1.0])).tolist() == [0.0, 0.0, -1.0]


DECLARED: dict[str, Any] = {"merges": "lse"}
MOVED = (
    "stays_finite", "a_common_offset_cancels", "a_very_low_bias_is_not_dead", "a_bias_constant_in_a_row_cancels",
    "masked_keys_stay_masked_at_low_logits", "a_constant_added_to_a_row_changes_nothing",
)  # fmt: skip
"""Laws whose large log-sum-exps show the rounding of a total."""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("count", "wide"), [(2, True), (3, False), (4, True)], ids=["2-float32", "3-input", "4-float32"]
)
def test_right_merges_conform_where_they_are_declared(count: int, wide: bool) -> None:
    record: dict[str, Any] = {"accumulate": "float32", "mask_gradient": True} if wide else {}
    target = parts_at_their_shares(count, wide=wide)
    with Session(Implementation(target, name="parts", **DECLARED, **record), effort="quick") as session:
        report = session.report(list(session.results(session.laws)))
    refutations = [(r.law, r.message) for r in report.laws if r.status == "refuted"]
    assert report.verdict == "conforms", (refutations, report.problem)
    assert max(report.ratios.values()) < 0.5


@pytest.mark.thorough(keep=("stays_finite", "masked_keys_stay_masked_at_low_logits"))
@pytest.mark.parametrize("law", MOVED)
def test_laws_with_large_log_sum_exps_accept_a_declared_merge(law: str) -> None:
    for count, wide in ((2, True), (4, True), (4, False)):
        accumulate = "float32" if wide else "input"
        held(law, parts_at_their_shares(count, wide=wide), "standard", accumulate=accumulate, **DECLARED)


def test_a_merge_that_is_not_declared_is_refuted_and_one_that_normalises_is_not() -> None:
    refuted("a_very_low_bias_is_not_dead", parts_at_their_shares(2))
    held("a_very_low_bias_is_not_dead", halves_merged_by_lse(), "standard")


FAULTS: dict[str, dict[str, Any]] = {"lost": {"lost": 1}, "alike": {"weighted": False}, "base": {"base": 2.0}}


@pytest.mark.parametrize("wide", [True, False], ids=["float32", "input"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("law", ["agrees_with_truth", "value_gradient_is_true", "low_precision_rounds_as_declared"])
def test_wrong_merges_are_refuted(law: str, fault: str, wide: bool) -> None:
    target = parts_at_their_shares(3, wide=wide, **FAULTS[fault])
    refuted(law, target, "quick", accumulate="float32" if wide else "input", **DECLARED)


def test_a_gradient_without_the_share_of_a_part_is_refuted() -> None:
    def detached(query: Any, key: Any, value: Any) -> Any:
        n = key.shape[-2] // 2
        right = parts_at_their_shares(2)
        return right(query, key, value) if n < 1 else right(query, key.detach(), value)

    assert judged("key_gradient_is_true", detached, **DECLARED).status == "refuted"


def rows(n: int) -> tuple[Any, ...]:
    """Query, key, value and cotangent of one row over n keys."""
    rng = np.random.default_rng(n)
    return tuple(rng.integers(-8, 9, shape) / 4.0 for shape in ((1, 1, 3), (1, n, 3), (1, n, 2), (1, 1, 2)))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("n", [2, 5, 40])
def test_the_budget_of_a_merge_contains_the_plain_one(dtype: str, n: int) -> None:
    q, k, v, c = rows(n)
    truth, gradients = oracle.attention(q, k, v), oracle.gradients(q, k, v, c)
    plain, merged = (budget.forward_bound(q, k, v, truth, dtype=dtype, merges=m) for m in ("none", "lse"))
    assert (merged.out > plain.out).all() and (merged.lse > plain.lse).all()
    back, more = (
        budget.backward_bound(q, k, v, c, truth, gradients, dtype=dtype, merges=m) for m in ("none", "lse")
    )  # fmt: skip
    for name in ("query", "key", "value"):
        assert (getattr(more, name) > getattr(back, name)).all()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_factor_of_a_weight_is_that_of_the_document(dtype: str) -> None:
    """(merged): with equal weights and values of 1 the right side is M itself."""
    scores = np.array([[0.5, -1.0, 0.25]])
    lse = np.log(np.exp(scores).sum(-1, keepdims=True))
    f = float_format(dtype, "input")
    merge = merge_errors(scores, lse, None, a=f.a, w=f.w, c_sum=8 * f.a)
    q = np.exp(scores - lse)
    factor, X = merge.factor(q, np.ones_like(lse))
    wanted = (q * ((1 + np.expm1(merge.share)) / (1 - X) - 1)).sum()
    assert (q * factor).sum() == pytest.approx(wanted, rel=1e-9)
    assert wanted > merge.parts * 4 * f.w and (merge.mismatch(factor) >= 2 * factor).all()


def test_a_right_merge_at_low_scores_uses_most_of_its_budget() -> None:
    """Two keys as two parts: the rounding of a total near -4100 moves both weights alike, by most of the budget."""
    rng = np.random.default_rng(0)
    q, k, v = np.zeros((1, 400, 3)), np.zeros((1, 2, 3)), round_to(1 + rng.random((1, 2, 2)), "float32")
    mask = round_to(rng.standard_normal((1, 400, 2)) - 4100, "float32")
    truth = oracle.attention(q, k, v, mask)
    bound = budget.forward_bound(q, k, v, truth, mask=mask, dtype="float32", merges="lse").out
    lses = mask.astype(np.float32)
    top = lses.max(-1, keepdims=True)
    total = top + np.log(np.exp(lses - top).sum(-1, keepdims=True))
    worst = (np.abs(np.exp(lses - total) @ v.astype(np.float32) - truth.out) / bound).max()
    assert 0.6 < worst <= 1, worst


def test_parts_are_counted_as_the_document_says() -> None:
    """(parts): one for every 16 keys, four where that is fewer, one for each key where there are fewer still."""
    assert [part_count(n) for n in (0, 1, 3, 4, 16, 64, 65, 1024)] == [1, 1, 3, 4, 4, 4, 5, 64]


def test_no_share_passes_one_where_no_digit_is_left() -> None:
    q, k, v, _ = rows(4)
    mask = np.full((1, 4), -(2.0**30))
    truth = oracle.attention(q, k, v, mask)
    bound = budget.forward_bound(q, k, v, truth, mask=mask, dtype="float32", merges="lse").out
    largest = np.abs(v).max(axis=-2, keepdims=True)
    assert np.isfinite(bound).all() and (bound <= 1.01 * (np.abs(truth.out) + 4 * largest)).all()
