"""Laws and documents hold together.

The laws' formulas in the code against the steps of the documents that their sources name, on the same numbers:
what a law hands to the target and demands of it is recorded, and both sides of the step are computed from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from attention_core import oracle
from attention_core.conformance.cases.case import Case
from attention_core.conformance.laws import LAWS as LAWS_OF_THE_SUITE
from attention_core.derivation.latex.syntax import Chain, Expr, Group, Num, Times
from attention_core.derivation.reading.step import Step
from tests.numeric import document_values
from tests.numeric.document_values import sides_of, steps_named, value_of
from tests.numeric.law_calls import Calls, calls, truth

Array = npt.NDArray[np.float64]
LAWS, MERGE, BACK = "laws.md", "online_softmax.md", "softmax_backward.md"
KEYS, SIZE = 3, 2


def drawn(*shape: int, seed: int = 0) -> Array:
    """Numbers with few bits."""
    return np.random.default_rng([seed, *shape]).integers(-8, 9, shape) / 8


def small(**changes: Any) -> Case:
    """One query, three keys of size 2, values of width 1."""
    found = Case(
        "float64", drawn(1, 1, 1, SIZE), drawn(1, 1, KEYS, SIZE, seed=1), drawn(1, 1, KEYS, 1, seed=2), scale=1.0
    )
    return found.with_(**changes)


def scores(case: Case) -> Array:
    """The scores of the one row."""
    return truth(case).scores[0, 0, 0]


def out(case: Case) -> Array:
    """The output of the one row."""
    return truth(case).out[0, 0]


def values(case: Case) -> Array:
    """The values of width 1 as a line."""
    return case.value[0, 0, :, 0]


@dataclass
class Equal:
    """Two tables that must be the same; `what` says which."""

    what: str
    got: npt.ArrayLike
    want: npt.ArrayLike


# Each function takes a law's calls and yields what must agree: numbers of the law with sides of the document's step.


def constant_values(seen: Calls) -> list[Equal]:
    (flat,) = seen.cases
    x = values(flat)[0]
    left, right = sides_of(LAWS, "constant-values", {"n": KEYS}, {"s": scores(flat), "x": x})
    return [
        Equal("values", values(flat), np.full(KEYS, x)), Equal("output", out(flat), left),
        Equal("demand", seen.demands[0].want[0, 0], right),
    ]  # fmt: skip


def affine(seen: Calls) -> list[Equal]:
    case, other, both = seen.cases
    a, b = 2.0, -1.0
    given = {"s": scores(case), "v": values(case), "w": values(other), "a": a, "b": b}
    left, right = sides_of(LAWS, "affine", {"n": KEYS}, given)
    added = (values(both) - a * values(case) - b * values(other))[0]
    assert abs(added) >= 1
    given |= {"x": added}
    constant = sides_of(LAWS, "constant-values", {"n": KEYS}, given)[0]
    return [
        Equal("values", values(both), a * values(case) + b * values(other) + added),
        Equal("output", out(both), left + constant), Equal("demand", seen.demands[0].want[0, 0], right + constant),
    ]  # fmt: skip


def hull(seen: Calls) -> list[Equal]:
    (case,) = seen.cases
    given = {"s": scores(case), "v": values(case)}
    (low, mean), (_, high) = (sides_of(LAWS, "hull", {"n": KEYS}, given, number=k) for k in (1, 2))
    (demand,) = seen.demands
    return [
        Equal("lowest", demand.want[0, 0] - demand.bound[0, 0], low), Equal("output", out(case), mean),
        Equal("highest", demand.want[0, 0] + demand.bound[0, 0], high),
    ]  # fmt: skip


def equal_scores(seen: Calls) -> list[Equal]:
    (case,) = seen.cases
    left, right = sides_of(LAWS, "equal-scores", {"n": KEYS}, {"x": scores(case)[0], "v": values(case)})
    return [
        Equal("scores", scores(case), np.full(KEYS, scores(case)[0])), Equal("output", out(case), left),
        Equal("demand", seen.demands[0].want[0, 0], right),
    ]  # fmt: skip


def count_keys(seen: Calls) -> list[Equal]:
    (flat,) = seen.cases
    left, right = sides_of(LAWS, "count-keys", {"n": KEYS}, {"x": scores(flat)[0]})
    return [Equal("lse", truth(flat).lse, left), Equal("demand", seen.demands[0].want, right)]


def doubled(seen: Calls) -> list[Equal]:
    case, twice = sorted(seen.cases, key=lambda c: c.key.shape[-2])
    left, right = sides_of(LAWS, "doubled", {"n": KEYS}, {"s": scores(case), "v": values(case)})
    copies = np.concatenate([values(case), values(case)])
    return [Equal("values", values(twice), copies), Equal("twice", out(twice), left), Equal("once", out(case), right)]


def reversed_(seen: Calls) -> list[Equal]:
    case, other = seen.cases
    left, right = sides_of(LAWS, "reversed", {"n": KEYS}, {"s": scores(other), "v": values(other)})
    total = lambda c: out(c) * np.exp(truth(c).lse[0, 0, 0])  # noqa: E731
    return [Equal("in one order", total(case), right), Equal("in another", total(other), left)]


def rows(case: Case) -> dict[str, Array]:
    """Query, keys and values as the document's matrices."""
    return {"q": case.query[0, 0], "K": case.key[0, 0], "V": case.value[0, 0]}


SIZES = {"n": KEYS, "d": SIZE, "m": 1}


def common_key(seen: Calls) -> list[Equal]:
    case, moved = seen.cases
    vector = moved.key[0, 0, :1] - case.key[0, 0, :1]
    assert vector.any()
    left, right = sides_of(LAWS, "common-key", SIZES, rows(case) | {"u": vector})
    return [Equal("moved", out(moved), left), Equal("before", out(case), right)]


def turned(seen: Calls) -> list[Equal]:
    case, other = seen.cases
    two = case.key[0, 0, :SIZE]
    turn = np.linalg.solve(two, other.key[0, 0, :SIZE])
    left, right = sides_of(LAWS, "turned", SIZES, rows(case) | {"R": turn})
    return [
        Equal("an orthogonal matrix", turn @ turn.T, np.eye(SIZE)),
        Equal("turned", out(other), left), Equal("before", out(case), right),
    ]  # fmt: skip


def scale_moves(seen: Calls) -> list[Equal]:
    case, moved = seen.cases
    assert case.scale is not None and moved.scale is not None and case.scale != moved.scale
    left, right = sides_of(LAWS, "scale-moves", SIZES, rows(case) | {"\\sigma": case.scale})
    factor = case.scale / moved.scale
    return [
        Equal("query", moved.query, factor * case.query), Equal("before", out(case), left),
        Equal("moved", out(moved), right),
    ]  # fmt: skip


def constant_bias(seen: Calls) -> list[Equal]:
    """Rows of a bias that differ by a constant: both sides, and the bias is not scaled."""
    case, other = seen.cases
    assert case.mask is not None and other.mask is not None
    added = np.ravel(other.mask - case.mask)[0]
    assert added != 0
    given = rows(case) | {"\\sigma": case.scale, "b": case.mask[0], "c": added}
    left, right = sides_of(LAWS, "constant-bias", SIZES, given)
    return [Equal("shifted", out(other), left), Equal("before", out(case), right)]


def bias_alone(seen: Calls) -> list[Equal]:
    """With a zero query and any scale the bias remains."""
    case, blank, wide = seen.cases
    found = []
    for one in (case, blank, wide):
        assert one.mask is not None
        given = rows(one) | {"\\sigma": one.scale, "b": one.mask[0], "c": 0.0}
        found += [Equal(f"scale {one.scale}", out(one), side) for side in sides_of(LAWS, "constant-bias", SIZES, given)]
    return [*found, Equal("zero queries", blank.query, 0 * case.query)]


def shift(seen: Calls) -> list[Equal]:
    case, other = seen.cases
    assert case.mask is not None and other.mask is not None
    added = float((other.mask - case.mask)[0, 0])
    left, right = sides_of(MERGE, "shift", {"n": KEYS}, {"s": scores(case), "v": values(case), "a": -added})
    return [Equal("shifted", out(other), left), Equal("before", out(case), right)]


def lse_shift(seen: Calls) -> list[Equal]:
    case, other = seen.cases
    added = (scores(other) - scores(case))[0]
    left, right = sides_of(MERGE, "lse-shift", {"n": KEYS}, {"s": scores(other), "a": added})
    return [Equal("demand", seen.demands[0].want, left), Equal("lse", truth(other).lse, right)]


def merge(seen: Calls) -> list[Equal]:
    case, *parts = sorted(seen.cases, key=lambda c: -c.key.shape[-2])
    first, second = (p for k in (0, 1) for p in parts if (p.key[0, 0, 0] == case.key[0, 0, 0]).all() == (k == 0))
    given = {"s": scores(first), "v": values(first), "r": scores(second), "w": values(second)}
    sizes = {"n": len(given["s"]), "m": len(given["r"])}
    left, right = sides_of(MERGE, "merge-out", sizes, given)
    return [Equal("merged", seen.demands[-1].want[0, 0], left), Equal("whole", out(case), right)]


def masked(seen: Calls) -> list[Equal]:
    found = []
    for case in seen.cases:
        assert case.mask is not None
        (hidden,) = np.flatnonzero(~np.broadcast_to(case.mask, (1, 1, 1, KEYS))[0, 0, 0])
        seen_keys = np.delete(np.arange(KEYS), hidden)
        plain = scores(case.with_(mask=None))
        given = {
            "s": plain[seen_keys],
            "v": values(case)[seen_keys],
            "t": plain[hidden],
            "w": values(case)[hidden],
            "f": 0,
        }
        left, right = sides_of(LAWS, "masked", {"n": KEYS - 1}, given)
        found += [Equal("with its factor", out(case), left), Equal("without the key", out(case), right)]
    assert not np.array_equal(seen.cases[0].key, seen.cases[1].key)
    return found


def additive(seen: Calls) -> list[Equal]:
    """-inf is the limit of the document's x; e^-2000 is 0 in float64."""
    _, other = seen.cases
    assert other.mask is not None
    (hidden,) = np.flatnonzero(np.isneginf(other.mask[0]))
    rest = np.delete(np.arange(KEYS), hidden)
    plain = scores(other.with_(mask=None))
    given = {"s": plain[rest], "v": values(other)[rest], "t": plain[hidden], "w": values(other)[hidden], "x": -2000.0}
    left, right = sides_of(LAWS, "additive-mask", {"n": KEYS - 1}, given)
    return [Equal("added", out(other), left), Equal("as a factor", out(other), right)]


def dead(seen: Calls) -> list[Equal]:
    killed = seen.cases[0]
    plain = killed.with_(mask=None)
    given = {"s": scores(plain), "v": values(plain), "f": 0}
    left, right = sides_of(LAWS, "dead-row", {"n": KEYS}, given)
    alive, _ = sides_of(LAWS, "dead-row", {"n": KEYS}, given | {"f": 1})
    return [
        Equal("mass of a row with its keys", np.exp(truth(plain).lse), alive),
        Equal("mass", np.exp(seen.demands[0].want), left),
        Equal("no mass", np.exp(truth(killed).lse), right),
    ]


def gap_of(case: Case) -> tuple[int, float]:
    """The leading key of a row, and how far it is ahead of the next."""
    s = scores(case)
    leader = int(s.argmax())
    return leader, float(s[leader] - np.delete(s, leader).max())


def copied(seen: Calls) -> list[Equal]:
    assert len(seen.cases) == len(seen.demands)
    return [one for case, demand in zip(seen.cases, seen.demands, strict=True) for one in copied_once(case, demand)]


def copied_once(case: Case, demand: Any) -> list[Equal]:
    leader, gap = gap_of(case)
    given = {"s": scores(case), "v": values(case), "g": gap, "D": np.ptp(values(case))}
    sizes = {"n": KEYS, "j": leader + 1}
    left, right = sides_of(
        "copying.md", "copy", sizes, given
    )  # how far the output is from v_j, and what "within" allows
    return [
        Equal("demand", demand.want[0, 0], values(case)[leader]),
        Equal("distance", np.abs(out(case) - demand.want[0, 0]), left),
        Equal("bound", demand.bound[0, 0], right),
    ]  # fmt: skip


def two_of_many(seen: Calls) -> list[Equal]:
    (case,) = seen.cases
    key, query = case.key[0, 0], case.query[0, 0, 0]
    hit = np.flatnonzero(key @ query)
    assert len(hit) == 2 and np.array_equal(key @ key.T, np.eye(KEYS))
    scale = case.scale or 1.0
    S = scale * float(query.max())
    sizes = {"n": KEYS, "d": KEYS, "m": 1, "a": int(hit[0]) + 1, "b": int(hit[1]) + 1}
    given = {"k": key, "v": case.value[0, 0], "S": S, "R": np.abs(values(case)).max()}
    left, right = sides_of("averaging.md", "factor-bound", sizes, given)
    (demand,) = seen.demands
    largest = value_of("averaging.md", "factor-bound-size", "(n - 2) e^{-S} R", sizes, given)
    assert abs(right) <= largest <= KEYS * np.exp(-S) * np.ptp(values(case)) * 2
    return [
        Equal("error", out(case) - demand.want[0, 0], left), Equal("in closed form", out(case) - demand.want[0, 0], right),
        Equal("bound", demand.bound[0, 0], KEYS * np.exp(-S) * np.ptp(values(case))),
    ]  # fmt: skip


def tangent_of(case: Case) -> tuple[Array, Array]:
    """The derivative of the weights along a direction of the scores, by the oracle: dV' = P'^T dO at dO = 1."""
    direction = drawn(1, 1, 1, KEYS, seed=7)
    unit = case.with_(
        query=np.ones((1, 1, 1, 1)), key=scores(case)[None, None, :, None], value=np.ones((1, 1, KEYS, 1))
    )
    found = oracle.second_gradients(
        unit.query, unit.key, unit.value, np.ones((1, 1, 1, 1)),
        (0 * unit.query, direction[..., 0, :, None], 0 * unit.value), scale=1.0,
    )  # fmt: skip
    return direction.ravel(), found.value[0, 0, :, 0]


def gradient_sides(name: str, extra: dict[str, Any] | None = None) -> tuple[Case, tuple[Array, Array]]:
    """A case with a scale and a bias, and both sides of a step of the backward pass on it."""
    given = rows(BIASED) | {"\\sigma": BIASED.scale, "c": BIASED.cotangent()[0, 0], "b": BIASED.mask}
    return BIASED, sides_of(BACK, name, SIZES, given | (extra or {}))


def test_the_oracles_gradients_are_those_of_the_document() -> None:
    plain = BIASED.with_(mask=None)
    cotangent = plain.cotangent()
    found = oracle.gradients(plain.query, plain.key, plain.value, cotangent, scale=plain.scale)
    wanted = {"d-query": found.query, "d-key": found.key, "d-value": found.value}
    for name, got in wanted.items():
        for side in gradient_sides(name)[1]:
            np.testing.assert_allclose(got[0, 0], side.reshape(got[0, 0].shape), rtol=1e-12, atol=1e-13, err_msg=name)
    biased = oracle.gradients(
        BIASED.query, BIASED.key, BIASED.value, cotangent, BIASED.mask, scale=BIASED.scale, want_mask=True
    )
    assert biased.mask is not None
    for side in gradient_sides("d-bias")[1]:
        np.testing.assert_allclose(biased.mask, side, rtol=1e-12, atol=1e-13)
    g = (cotangent @ BIASED.value.swapaxes(-1, -2))[0, 0, 0]
    for number in (1, 2):
        for side in sides_of(BACK, "softmax-vjp", {"n": KEYS}, {"s": scores(BIASED), "g": g}, number=number):
            np.testing.assert_allclose(biased.mask[0], side[:, 0], rtol=1e-12, atol=1e-13)


def test_derivatives_along_a_direction_and_of_the_log_sum_exp_are_those_of_the_document() -> None:
    direction, got = tangent_of(BIASED)
    for side in sides_of(BACK, "tangent", {"n": KEYS}, {"s": scores(BIASED), "w": direction, "t": 0.0}):
        np.testing.assert_allclose(got, side[:, 0], rtol=1e-12, atol=1e-13)
    # The gradient of the log-sum-exp by the scores are the weights; its second derivative is the Jacobian.
    p = truth(BIASED).weights[0, 0, 0]
    for side in sides_of(BACK, "jacobian", {"n": KEYS}, {"s": scores(BIASED)}):
        np.testing.assert_allclose(np.diag(p) - np.outer(p, p), side, rtol=1e-12, atol=1e-13)


def test_what_is_masked_gets_no_gradient_in_the_document_and_in_the_oracle() -> None:
    assert MASKED.mask is not None
    found = oracle.gradients(
        MASKED.query, MASKED.key, MASKED.value, np.ones((1, 1, 1, 1)), MASKED.mask, scale=MASKED.scale
    )
    plain = scores(MASKED.with_(mask=None))
    given = {"s": plain[[0, 2]], "v": values(MASKED)[[0, 2]], "t": plain[1], "w": values(MASKED)[1]}
    for name, got in (("masked-value-gradient", found.value[0, 0, 1]), ("masked-score-gradient", found.key[0, 0, 1])):
        left, right = sides_of(LAWS, name, {"n": KEYS - 1}, given | {"f": 0})
        assert left == right == 0 and not got.any(), name
        visible = sides_of(LAWS, name, {"n": KEYS - 1}, given | {"f": 1})[0]
        assert visible != 0, f"{name}: a key that is seen has a gradient"


MASKED = small(mask=np.array([[True, False, True]]))
BIASED = small(mask=drawn(1, KEYS, seed=3), scale=0.5)
UNIT = Case("float64", drawn(1, 1, 1, KEYS), np.eye(KEYS)[None, None], drawn(1, 1, KEYS, 1, seed=2), scale=1.0, seed=1)
BOUND: dict[str, tuple[Case, Callable[[Calls], list[Equal]], bool]] = {
    "weights_are_a_distribution": (small(), constant_values, False),
    "output_is_affine_in_the_values": (small(seed=1), affine, False),
    "output_lies_in_the_hull": (small(), hull, False),
    "a_leading_key_is_copied": (small(), copied, False),
    "large_scales_pick_the_best_key": (small(), copied, False),
    "zero_queries_average": (small(), equal_scores, False),
    "scale_zero_averages": (small(), equal_scores, False),
    "two_matching_keys_are_averaged": (UNIT, two_of_many, False),
    "lse_of_equal_scores_counts_the_keys": (small(), count_keys, True),
    "doubled_keys_change_nothing": (small(), doubled, False),
    "gradients_of_doubled_keys_add_up": (small(), doubled, False),
    "permuting_keys_permutes_their_gradients": (small(), reversed_, False),
    "a_common_key_vector_cancels": (small(), common_key, False),
    "turning_queries_and_keys_together_changes_nothing": (small(), turned, False),
    "scale_may_move_into_the_query": (small(), scale_moves, False),
    "a_constant_added_to_a_row_changes_nothing": (BIASED, shift, False),
    "a_bias_constant_in_a_row_cancels": (BIASED, constant_bias, False),
    "a_bias_is_added_to_scaled_scores": (BIASED, bias_alone, False),
    "a_bias_shifts_the_lse": (small(), lse_shift, True),
    "parts_merge_by_log_sum_exp": (small(), merge, True),
    "masked_keys_are_invisible": (MASKED, masked, False),
    "bool_and_additive_masks_agree": (MASKED, additive, False),
    "dead_rows_have_no_mass": (small(mask=np.array([[True, True, False]]), seed=3), dead, True),
}


@pytest.mark.parametrize("law", BOUND)
def test_a_law_says_what_its_document_says(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, read, lse = BOUND[law]
    for one in read(calls(law, case, monkeypatch, lse=lse)):
        np.testing.assert_allclose(np.ravel(one.got), np.ravel(one.want), rtol=1e-9, atol=1e-9, err_msg=one.what)


def enlarged(side: Expr) -> Expr:
    """An eighth more, or an eighth in place of 0."""
    if side == Num(Fraction(0)):
        return Num(Fraction(1, 8))
    return Times((Num(Fraction(9, 8)), Group("(", (Chain((side,)),), ")")), ("",))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("law", BOUND)
def test_a_step_that_is_changed_alone_is_noticed(law: str, side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, read, lse = BOUND[law]
    seen = calls(law, case, monkeypatch, lse=lse)

    def changed(document: str, name: str) -> list[Step]:
        return [replace(s, **{side: enlarged(getattr(s, side))}) for s in steps_named(document, name)]

    monkeypatch.setattr(document_values, "steps_named", changed)
    differing = [
        one.what for one in read(seen) if not np.allclose(np.ravel(one.got), np.ravel(one.want), rtol=1e-9, atol=1e-9)
    ]
    assert differing, f"the {side} side may be changed unnoticed"


BUDGET = {
    "error_budget.md",
    "second_gradients.md",
    "features.md",
}  # test_budget_documents.py, test_feature_documents.py
IN_GRADIENTS = {
    "d-query", "d-key", "d-value", "d-bias", "softmax-vjp", "tangent", "jacobian", "masked-value-gradient",
    "masked-score-gradient",
}  # fmt: skip


def test_every_step_that_a_law_rests_on_is_held_to_the_code_here() -> None:
    named = re.compile(r"derivations/(\w+\.md) \(([\w-]+)\)")
    held = {found.groups() for law in LAWS_OF_THE_SUITE if law.name in BOUND and (found := named.search(law.source))}
    rest = {found.groups() for law in LAWS_OF_THE_SUITE if (found := named.search(law.source))} - held
    assert {pair for pair in rest if pair[0] not in BUDGET and pair[1] not in IN_GRADIENTS} == set()
    assert set(BOUND) <= {law.name for law in LAWS_OF_THE_SUITE}
