"""The power of a case.

Null models: what they compute, when they count as relevant, and what their counts do to a verdict.
Cases here are small whole numbers, so that distances are far above rounding or exactly zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from judging import judged

from attention_core import oracle
from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.cases import null_models
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.null_models import NULLS, Problem, power
from attention_core.conformance.laws.value import agrees_with_truth
from attention_core.conformance.search import search
from attention_core.conformance.subjects.binding import bind
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.runner import LocalRunner
from attention_core.faults.bases.reference import correct

LAW = "agrees_with_truth"
NEEDS_FLOAT = {"bias_ignored", "bias_scaled"}


def drawn(null: str = "", *, seed: int = 0, **changes: Any) -> Case:
    """Two batches, six heads on three key heads, 3 queries, 5 keys, a mask as the null model needs it."""
    rng = np.random.default_rng(seed)
    whole = lambda *shape: rng.integers(-2, 3, shape).astype(float)  # noqa: E731
    keep = rng.random((2, 1, 3, 5)) < 0.7
    keep[..., 0] = True
    mask = np.where(keep, rng.integers(-2, 3, keep.shape), -np.inf) if null in NEEDS_FLOAT else keep
    case = Case("float64", whole(2, 6, 3, 2), whole(2, 3, 5, 2), whole(2, 3, 5, 2), mask, True, 2.0)
    return case.with_(**changes)


def truth_of(case: Case) -> oracle.Truth:
    return oracle.attention(case.query, case.key, case.value, case.mask, is_causal=case.is_causal, scale=case.scale)


@pytest.mark.parametrize("null", NULLS)
def test_every_null_model_is_relevant_somewhere_and_seen_with_a_fine_budget(null: str) -> None:
    case = drawn(null)
    truth = truth_of(case)
    found = power(case, truth, np.zeros_like(truth.out))
    assert null_models.relevant(null, case)
    assert found.relevant[null] > 0
    assert found.separated[null] == found.relevant[null]


@pytest.mark.parametrize("null", NULLS)
def test_nothing_is_seen_with_an_infinite_budget(null: str) -> None:
    case = drawn(null)
    truth = truth_of(case)
    found = power(case, truth, np.full_like(truth.out, np.inf))
    assert found.relevant[null] > 0
    assert found.separated[null] == 0
    assert found.judged == 0


def test_a_null_model_is_seen_up_to_a_quarter_of_its_distance() -> None:
    case = drawn(mask=None, is_causal=False)
    truth = truth_of(case)
    distance = np.abs(truth.out)  # of the null model "zeros"; powers of two keep the quarters exact
    bound = distance.max(axis=(-2, -1), keepdims=True) / null_models.SEPARATION * np.ones_like(distance)
    alive = int((distance.max(axis=(-2, -1)) > 0).sum())
    assert power(case, truth, bound).separated["zeros"] == 0
    assert power(case, truth, bound * (1 - 2.0**-40)).separated["zeros"] == alive


def test_what_a_case_lacks_is_not_relevant() -> None:
    plain = drawn(mask=None, is_causal=False, scale=1.0)
    absent = {
        "mask_ignored", "mask_inverted", "bias_ignored", "bias_scaled", "mask_or_causal",
        "causal_ignored", "causal_late", "causal_early", "causal_other_corner", "unscaled",
    }  # fmt: skip
    truth = truth_of(plain)
    assert absent == {n for n in NULLS if not null_models.relevant(n, plain)}
    assert power(plain, truth, np.zeros_like(truth.out)).relevant.keys() == NULLS.keys() - absent


def test_a_null_model_that_agrees_with_the_truth_is_not_relevant() -> None:
    rng = np.random.default_rng(1)
    one = Case("float64", rng.standard_normal((1, 1, 3, 2)), np.ones((1, 1, 1, 2)), np.full((1, 1, 1, 2), 0.3))
    truth = truth_of(one)
    found = power(one, truth, np.zeros_like(truth.out))
    assert {n for n, count in found.relevant.items() if count} == {"zeros", "over_queries"}


def test_dead_rows_do_not_lend_power() -> None:
    case = drawn(mask=np.zeros((3, 5), bool), is_causal=False)
    truth = truth_of(case)
    assert power(case, truth, np.zeros_like(truth.out)).judged == 0


def test_null_models_compute_what_they_say() -> None:
    mask = np.array([[[[True, True, False]]]])
    value = np.array([[[[1.0], [3.0], [8.0]]]])
    case = Case("float64", np.ones((1, 1, 1, 1)), np.array([[[[0.0], [1.0], [5.0]]]]), value, mask)
    p = Problem(case, truth_of(case), "top_left")
    expected = {
        "zeros": 0.0,
        "plain_mean": 4.0,
        "uniform": 2.0,
        "first_key": 1.0,
        "hard": 3.0,
        "mask_inverted": 8.0,
    }
    assert {name: float(NULLS[name][0](p)[0, 0, 0, 0]) for name in expected} == expected
    # Softmax over a single query gives weight one to every key it attends.
    assert float(null_models.over_queries(p)[0, 0, 0, 0]) == 4.0


@pytest.mark.parametrize(("alignment", "late"), [("top_left", [1, 2, 3]), ("bottom_right", [3, 4, 5])])
def test_the_causal_edge_moves_by_one(alignment: str, late: list[int]) -> None:
    case = Case("float64", np.zeros((1, 1, 3, 1)), np.zeros((1, 1, 5, 1)), np.zeros((1, 1, 5, 1)), None, True)
    p = Problem(case, truth_of(case), alignment)
    assert p.edge(0).sum(axis=-1).tolist() == late
    assert p.edge(1).sum(axis=-1).tolist() == [min(n + 1, 5) for n in late]
    assert p.edge(-1).sum(axis=-1).tolist() == [n - 1 for n in late]


def subject_of(function: Any) -> Subject:
    runner = LocalRunner(function, factory=False, array="torch", device="cpu")
    return Subject(runner, bind(Implementation(function, name="f"), runner.describe()))


def test_a_powerless_case_does_not_count_as_judged() -> None:
    silent = drawn(value=np.zeros((2, 3, 5, 2)))
    assert agrees_with_truth(subject_of(correct), silent) == 0
    assert agrees_with_truth(subject_of(correct), drawn()) == 12


@pytest.mark.parametrize("accumulate", ["input", "float32"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_every_dtype_alone_has_power_for_every_null_model(dtype: str, accumulate: str) -> None:
    result = judged(LAW, correct, dtypes=(dtype,), accumulate=accumulate)
    assert result.status == "held"
    assert result.minimum_met, result.message
    assert result.powers.keys() == NULLS.keys()
    assert min(result.powers.values()) >= null_models.MINIMUM["quick"]


def test_too_little_power_is_incomplete_and_says_what_was_not_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "MINIMUM", {"quick": 10**6})
    monkeypatch.setattr(search, "EXTRA_ROUNDS", 0)
    report = check_implementation(Implementation(correct, name="f", dtypes=("float32",)), "quick", laws=[LAW])
    assert report.verdict == "incomplete"
    assert "scale_off" in report.missing()[0]


def test_more_cases_are_drawn_while_power_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = judged(LAW, correct, dtypes=("float32",)).cases
    monkeypatch.setattr(search, "MINIMUM", {"quick": 10**6})
    assert judged(LAW, correct, dtypes=("float32",)).cases > before
