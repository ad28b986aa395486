"""The document of features and the truth, gradients and budgets that laws compare with hold together."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attention_core import oracle
from attention_core.conformance.budgets import budget
from attention_core.conformance.budgets.error_rows import Cap, float_format, gamma
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.features import Features, pose
from attention_core.conformance.laws import LAWS
from attention_core.conformance.subjects.featured import judge_call
from attention_core.declaration.implementation import Implementation
from tests.numeric.document_values import sides_of, value_of
from tests.numeric.law_calls import truth

DOCUMENT = "features.md"
N = 5


def a_row() -> Case:
    """As many queries as keys of size 2, values of width 1."""
    rng = np.random.default_rng(N)
    q, k, v = (rng.integers(-8, 9, (1, 1, N, d)) / 8 for d in (2, 2, 1))
    return Case("float64", q, k, v, scale=1.0)


def out_with(case: Case, row: int, **features: Any) -> float:
    """The output of a row of a call with features, by the plain problem that it poses."""
    return float(truth(pose(case, Features(**features), "top_left").case).out[0, 0, row, 0])


def scores_and_values(case: Case, row: int) -> dict[str, Any]:
    """The scores of a row and the values."""
    return {"s": truth(case).scores[0, 0, row], "v": case.value[0, 0, :, 0]}


def require_sides(name: str, sizes: dict[str, int], given: dict[str, Any], want: float) -> None:
    """Both sides of a step are a number."""
    left, right = sides_of(DOCUMENT, name, sizes, given)
    np.testing.assert_allclose([left.item(), right.item()], want, rtol=1e-13)


@pytest.mark.parametrize("factors", [(1, 0), (0, 1), (1, 1)])
def test_the_keys_of_a_block_share_the_factor_of_their_map(factors: tuple[int, int]) -> None:
    case, row, first = a_row(), 2, 3
    whole = scores_and_values(case, row)
    given = {"s": whole["s"][:first], "v": whole["v"][:first], "r": whole["s"][first:], "x": whole["v"][first:]}
    pairs = oracle.block_pairs([[bool(f) for f in factors]], N, N, (N, first))
    out = oracle.attention(case.query, case.key, case.value, pairs, scale=case.factor).out[0, 0, row, 0]
    require_sides("block-map", {"n": first, "m": N - first}, given | dict(zip("fg", factors, strict=True)), float(out))


def test_a_window_leaves_out_the_keys_beyond_its_sides() -> None:
    case, row = a_row(), 2
    whole, others = scores_and_values(case, row), np.array([j for j in range(N) if j != row])
    given = {"s": whole["s"][others], "v": whole["v"][others], "f": (np.abs(others - row) <= 1) * 1.0}
    given |= {"t": whole["s"][row], "w": whole["v"][row]}
    require_sides("in-window", {"n": N - 1}, given, out_with(case, row, window=(1, 1)))


def test_a_window_of_all_keys_is_none() -> None:
    case = a_row()
    require_sides("wide-window", {"n": N}, scores_and_values(case, 1), out_with(case, 1, window=(9, 9)))
    assert out_with(case, 1, window=(9, 9)) == out_with(case, 1)


def test_a_length_leaves_out_the_keys_behind_it() -> None:
    case, n = a_row(), 3
    whole = scores_and_values(case, 1)
    given = {"s": whole["s"][:n], "v": whole["v"][:n], "r": whole["s"][n:], "x": whole["v"][n:]}
    require_sides("first-keys", {"n": n, "m": N - n}, given, out_with(case, 1, key_lengths=np.array([n])))


@pytest.mark.parametrize(("name", "slope"), [("distance", 0.5), ("flat", 0.0)])
def test_slopes_take_off_the_distance(name: str, slope: float) -> None:
    case, row = a_row(), 3
    given = scores_and_values(case, row) | {"a": np.abs(np.arange(N) - row), "\\mu": slope}
    require_sides(name, {"n": N}, given, out_with(case, row, alibi_slopes=np.array([slope])))


def test_a_sink_is_a_key_without_a_value() -> None:
    case, row, z = a_row(), 1, 0.75
    given = scores_and_values(case, row) | {"z": z}
    require_sides("sink-key", {"n": N}, given, out_with(case, row, sinks=np.array([z])))
    left, right = sides_of(DOCUMENT, "low-sink", {"n": N}, given | {"z": -60.0})
    np.testing.assert_allclose(left, right, rtol=1e-13)
    assert out_with(case, row, sinks=np.array([-np.inf])) == pytest.approx(right.item(), rel=1e-13)


def test_the_gradient_of_a_sink_is_its_weight_times_the_output() -> None:
    case, z = a_row(), 0.75
    posed = pose(case, Features(sinks=np.array([z])), "top_left").case
    down = np.zeros((1, 1, N, 1))
    down[0, 0, 1] = 1.0
    true = oracle.gradients(posed.query, posed.key, posed.value, down, posed.mask, scale=1.0, want_mask=True)
    assert true.mask is not None
    given = scores_and_values(case, 1) | {"z": z}
    require_sides("sink-gradient", {"n": N}, given, float(true.mask[0, 0, 1, -1]))


def test_the_gradient_of_a_slope_is_that_of_its_scores_times_their_distances() -> None:
    case, row, slope = a_row(), 2, 0.375
    features, down = Features(alibi_slopes=np.array([slope])), np.zeros((1, 1, N, 1))
    down[0, 0, row] = 1.0
    record = Implementation(None, name="f", gradients=True, accumulate="input")
    call = judge_call(record, case, features)
    true, bounds, _ = call.gradients(down)
    given = scores_and_values(case, row) | {"a": np.abs(np.arange(N) - row), "\\mu": slope}
    require_sides("slope-gradient", {"n": N}, given, float(true["alibi_slopes"][0]))
    limits = budget.backward_bound(
        call.posed.case.query, call.posed.case.key, call.posed.case.value, down, call.truth, oracle.gradients(
            call.posed.case.query, call.posed.case.key, call.posed.case.value, down, call.posed.case.mask,
            scale=call.posed.case.factor, truth=call.truth, want_mask=True,
        ), mask=call.posed.case.mask, scale=call.posed.case.factor, dtype=case.dtype, accumulate="input",
        forward_bounds=call.bounds, want_mask=True,
    )  # fmt: skip
    assert limits.mask is not None
    errors, far = limits.mask.ravel(), np.abs(np.arange(N)[:, None] - np.arange(N)).ravel().astype(float)
    unit = errors.max() / 2**20
    moved = {"g": np.zeros(errors.size), "x": np.ceil(errors / unit), "b": far, "E": np.ceil(errors / unit)}
    most = unit * sides_of(DOCUMENT, "slope-sum", {"N": errors.size}, moved)[1].item()
    assert (1 - 1e-5) * most < bounds["alibi_slopes"][0] < 1.5 * most + 1e-12


def test_the_oracles_cap_and_its_slope_are_those_of_the_document() -> None:
    case, c = a_row(), 0.5
    q, k, v = case.query, case.key, case.value
    capped = oracle.attention(q, k, v, scale=1.0, softcap=c).scores[0, 0]
    scores, down = truth(case).scores[0, 0], np.ones((1, 1, N, 1))
    formula = r"c \tanh\left(\frac{s}{c}\right)"
    want = [value_of(DOCUMENT, "high-cap", formula, {}, {"s": s, "c": c}) for s in scores.ravel()]
    np.testing.assert_allclose(capped.ravel(), want, rtol=1e-13, atol=1e-15)
    slope = np.array([sides_of(DOCUMENT, "cap-derivative", {}, {"s": s, "c": c})[1].item() for s in scores.ravel()])
    ds = oracle.gradients(q, k, v, down, capped[None, None], scale=0.0, want_mask=True).mask
    assert ds is not None
    got = oracle.gradients(q, k, v, down, scale=1.0, softcap=c).query
    np.testing.assert_allclose(got[0, 0], (ds[0, 0] * slope.reshape(N, N)) @ k[0, 0], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("s", [0.0, 0.25, 2.0])
@pytest.mark.parametrize("delta", [0.0, 2.0**-10, 0.25])
def test_the_error_of_a_capped_score_is_the_steepest_slope_and_the_roundings(s: float, delta: float) -> None:
    c, fmt = 1.5, float_format("bfloat16", "input")
    cap = Cap(c, np.array([s]), fmt)
    found = float(cap.error(np.array([delta]))[0])
    lipschitz = sides_of(DOCUMENT, "capped", {}, {"s": s, "\\delta": delta, "c": c})[1].item()
    steepest = sides_of(DOCUMENT, "cap-steepest", {}, {"s": max(s, delta), "\\delta": delta, "c": c})[1].item()
    rounded = ((1 + gamma(3, fmt.native)) * (1 + gamma(8, fmt.a)) - 1) * c * np.tanh(s / c)
    assert found == pytest.approx(steepest + rounded + c * (fmt.flush_between + fmt.flush_sum), rel=1e-12)
    assert steepest <= lipschitz * (1 + 1e-12)
    moved = sides_of(DOCUMENT, "cap-quotient", {}, {"x": s / c})
    assert moved[0].item() <= moved[1].item()


def test_the_gradient_behind_a_cap_has_the_error_of_the_slope() -> None:
    c, fmt, ds, error = 1.5, float_format("float32", "input"), 0.375, 2.0**-12
    cap = Cap(c, np.array([0.5]), fmt)
    cap.error(np.array([2.0**-8]))
    new_ds, new_error = cap.through(np.array([ds]), np.array([error]))
    t, moved = float(cap.tanh[0]), float(np.asarray(cap.tanh_error)[0])
    slope = (
        sides_of(DOCUMENT, "cap-slope", {}, {"t": t, "\\varepsilon": moved, "r": 1.0})[1].item() + 3 * fmt.w + 3 * fmt.a
    )
    given = {"g": ds, "E": error, "S": slope, "f": 1 - t**2, "r": 1.0, "x": 1.0}
    whole = sides_of(DOCUMENT, "cap-gradient", {}, given)[1].item()
    g = gamma(2, fmt.w)
    assert float(new_ds[0]) == pytest.approx((1 - t**2) * ds)
    assert float(new_error[0]) == pytest.approx((1 + g) * whole + g * float(new_ds[0]), rel=1e-12)
    assert value_of(DOCUMENT, "cap-gradient", "S |g|", {}, given) == pytest.approx(slope * ds)


def test_every_step_that_a_law_names_is_computed_here() -> None:
    named = {step for law in LAWS for step in re.findall(r"derivations/features\.md \(([\w-]+)\)", law.source)}
    here = Path(__file__).read_text(encoding="utf-8")
    assert named and [step for step in sorted(named) if f'"{step}"' not in here] == []
