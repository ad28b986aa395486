"""Named steps hold what uses them.

Steps that the code names for what they prove, computed beside what they are used for: their bounds are the ones that
the error budget adds up, and the definitions are the oracle's. Every step that is named anywhere must be computed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attention_core import oracle
from attention_core.conformance.budgets.error_rows import ORACLE, float_format, gamma, merge_errors
from attention_core.conformance.budgets.linear_backward import (
    Judged,
    exact,
    input_gradient,
    product_sum,
    weight_gradient,
)
from attention_core.conformance.budgets.merge_bound import MergeBounds, merge_bound, merge_gradient_bound
from attention_core.conformance.budgets.rounding import UNIT_ROUNDOFF
from attention_core.conformance.budgets.second_budget import _roundings, second_bound
from attention_core.conformance.modules.normalised_heads import (
    EPS,
    SINGLE,
    layer_normalise,
    rms_normalise,
    through_scores,
)
from attention_core.oracle.truth import merge
from tests.numeric.document_values import sides_of, value_of
from tests.numeric.documents.test_budget_documents import references

BUDGET, SECOND, MERGE, PARTS = "error_budget.md", "second_gradients.md", "online_softmax.md", "merged_parts.md"
U = 2.0**-10
GIVEN = {
    "u": U, "a": U / 8, "w": U / 4, "y": U / 2, "f": 0.0, "z": 0.0, "s": [0.5, -0.25], "S": [0.75, 0.5],
    "v": [-1.5, 0.5], "x": 0.75, "q": 0.25, "k": [1.25, 2.0],
    "t": [1.0, 0.0], "\\zeta": 1.25,
}  # fmt: skip
"""One row, without underflow, whose first score is the largest."""


def test_every_step_that_the_code_names_is_computed_by_a_test() -> None:
    tests = [path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("test_*documents.py"))]
    named = {(document, step) for _, document, step in references()}
    assert len(named) > 40
    missing = [one for one in sorted(named) if not any(f'"{one[1]}"' in text for text in tests)]
    assert not missing


def of_row(symbol: str, i: int = 1) -> float:
    """A symbol of the budget for one row of two keys; what has an index stands for key i."""
    return value_of(BUDGET, "one-row-lse-key", symbol, {"n": 2, "d": 1, "B": 1, "i": i}, GIVEN)


def bound(step: str, n: int = 1, **given: float | list[float]) -> float:
    """The right side of a step about the budget, for n terms: the bound."""
    return sides_of(BUDGET, step, {"n": n}, given)[1].item()


def near(wanted: float) -> object:
    """As far apart as two ways to add up the same few terms may be."""
    return pytest.approx(wanted, rel=1e-13, abs=0.0)


def test_the_stored_output_has_the_bound_of_its_step() -> None:
    before = of_row("D") + of_row(r"\rho") * of_row("M")
    assert of_row("E") == near(bound("output", o=of_row("o"), E=before, u=U, r=1.0, t=1.0))


@pytest.mark.parametrize("i", [1, 2])
def test_gradients_of_a_row_have_the_bounds_of_their_steps(i: int) -> None:
    p, x, q, worst = of_row("p_i", i), 0.75, 0.25, {"r": [1.0], "t": [1.0]}
    relative = ((1 + of_row(r"\mu")) * of_row("W_i", i) + of_row(r"\mu") * p) / p
    value = bound("dV", g=of_row(r"\eta"), R=relative, p=[p], x=[x], **worst)
    assert of_row("V_i", i) == near(value)
    b, beta, w = of_row("b_i", i), of_row(r"\beta"), U / 4
    assert p * abs(b - beta) > 0.1  # so that every term counts
    error = (
        of_row(r"\phi_i", i) + of_row(r"\chi") * abs(b) + of_row("G") + of_row("P_i", i) + 2 * w * (abs(b) + abs(beta))
    )
    product = bound("dS", p=p, R=of_row("W_i", i) / p, x=b - beta, E=error, r=1.0, t=1.0)
    assert of_row("T_i", i) == near((1 + 2 * U) * product + 2 * U * p * abs(b - beta))
    share = of_row("U_i", i) - of_row(r"\Upsilon_i", i)
    assert share == near((1 + of_row(r"\nu")) * of_row(r"\Lambda") * (2 - i))
    key = bound("dQ", g=of_row(r"\theta"), E=of_row("U_i", i), y=[p * (b - beta)], k=[q], **worst)
    assert of_row("K_i", i) == near(key)


def test_what_comes_to_the_largest_score_has_the_bound_of_its_step() -> None:
    roundings = {
        "h": of_row(r"\alpha"),
        "c": of_row(r"\varepsilon"),
        "\\rho": of_row(r"\psi"),
        "\\sigma": of_row(r"\omega"),
    }
    worst: dict[str, float | list[float]] = {"t": 0.0, "z": [0.0], **{name: [1.0] for name in "sbrqg"}}
    whole = sum((of_row("p_i", i) + of_row("W_i", i)) * abs(of_row("b_i", i)) for i in (1, 2))
    assert of_row(r"\Lambda") == near(bound("leading", **roundings, B=[whole], **worst))


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_log_sum_exp_moves_as_far_as_its_scores_together(sign: float) -> None:
    """All scores moved by Delta one way move it by Delta: the bound is reached, on both of its branches."""
    given = {"s": [0.5, -1.0], "v": [1.0, 2.0], "\\Delta": [0.25, 0.25], "t": [sign, sign]}
    for side in sides_of(BUDGET, "lse", {"n": 2}, given):
        assert side.item() == pytest.approx(0.25, rel=1e-12)


def test_the_oracle_computes_attention_as_it_is_defined() -> None:
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((3, 2)) for _ in range(3))
    for side in sides_of("attention.md", "matrix", {"n": 3, "h": 2}, {"Q": q, "K": k, "V": v}):
        assert oracle.attention(q[None], k[None], v[None]).out[0] == pytest.approx(side, rel=1e-13)


def test_the_oracle_merges_parts_as_their_step_does() -> None:
    s, r, v, w = [0.5, -1.0], [2.0, 0.25, 1.0], [1.0, -2.0], [4.0, 0.5, 3.0]
    given = {"s": s, "r": r, "v": v, "w": w}
    parts = [(np.array(a), np.array(b)) for a, b in ((s, v), (r, w))]
    lses = [np.log(np.exp(a).sum(keepdims=True)) for a, _ in parts]
    outs = [[[np.exp(a) @ b / np.exp(a).sum()]] for a, b in parts]
    out, lse = merge(outs, lses)
    for side in sides_of(MERGE, "merge-lse", {"n": 2, "m": 3}, given):
        assert lse.item() == pytest.approx(side.item(), rel=1e-13)
    for side in sides_of(MERGE, "merge-out", {"n": 2, "m": 3}, given):
        assert out.item() == pytest.approx(side.item(), rel=1e-13)


def parts_of_a_merge() -> tuple[np.ndarray, np.ndarray, MergeBounds]:
    """Three parts of one row, in float32, with nothing that underflows."""
    outs, lses = np.array([1.5, -2.0, 0.25])[:, None, None], np.array([0.5, -1.0, 2.0])[:, None]
    return outs, lses, merge_bound(outs, lses, merge(outs, lses), dtype="float32", accumulate="input")


def test_given_parts_have_the_bounds_of_their_steps() -> None:
    outs, lses, found = parts_of_a_merge()
    out, lse = merge(outs, lses)
    fmt, w = float_format("float32", "input"), UNIT_ROUNDOFF["float32"] + ORACLE
    q = np.exp(lses - lse)
    # (given-total), (given-share) and (given-complement) as their formulas are written, with B = 3 parts
    total = (3 - 1) * (w * np.maximum(np.abs(lses), np.abs(lse)) + 14 * w)
    share = w * (lse - lses) + 3 * (4 * fmt.w + 4 * fmt.a)
    X = float((q * np.expm1(total)).sum())
    for part in range(3):
        given = {"q": q[part, 0], "\\rho": share[part, 0], "X": X, "r": 1.0, "t": -1.0}
        reached, bound = sides_of(PARTS, "given-factor", {}, given)
        assert found.off[part, 0] - 2 * 3 * fmt.w == pytest.approx(bound.item(), rel=1e-9)
        assert bound.item() == near(reached.item())  # so that the bound is the smallest
    given = {"q": q[:, 0], "S": found.off[:, 0], "o": outs[:, 0, 0], "t": np.sign(outs[:, 0, 0]), "u": fmt.u, "r": 1.0}
    reached, bound = sides_of(PARTS, "given-output", {"n": 3}, given)
    assert found.out.item() == pytest.approx(bound.item() + 5 * fmt.flush, rel=1e-9)
    assert out.item() == pytest.approx((q * outs[:, 0]).sum(), rel=1e-13) and reached.item() <= bound.item()


def test_gradients_by_given_parts_have_the_bounds_of_their_step() -> None:
    outs, lses, found = parts_of_a_merge()
    true = oracle.merge_gradients(outs, lses, out=np.ones((1, 1)))
    for dtype in ("float32", "float64"):
        unit, q, z = float_format(dtype, "input").u, found.shares[:, 0], outs[:, 0, 0]
        _, by_lse = merge_gradient_bound(outs, np.ones((1, 1)), found, true, dtype, of_lse=False)
        T = (2 + found.off[:, 0]) * found.off[:, 0] + gamma(8, unit) * q
        rest = (
            gamma(1 + 2 * 3 + 6, float_format(dtype, "input").a) * (np.abs(z) + ((q + T) * np.abs(z)).sum()) * (q + T)
        )
        for first in range(3):
            turned = {name: np.roll(value, -first) for name, value in (("q", q), ("T", T), ("z", z), ("t", np.ones(3)))}
            reached, bound = sides_of(PARTS, "given-gradient", {"n": 3}, turned)
            assert reached.item() <= bound.item()
            wanted = bound.item() + rest[first] + unit * abs(true[1][first, 0]) + 5 * float_format(dtype, "input").flush
            assert by_lse[first, 0] == pytest.approx(wanted, rel=1e-9)


def test_second_derivatives_are_the_derivative_of_their_step() -> None:
    """(two-ways) is the derivative of p_i (g_i - D) along x: a complex step has it without a difference."""
    s, x, g = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.25, -0.5]), np.array([-2.0, 1.5, 0.75])
    weights = lambda scores: np.exp(scores) / np.exp(scores).sum()  # noqa: E731
    moved = weights(s + 1e-30j * x)
    wanted = (moved * (g - moved @ g)).imag / 1e-30
    for i in range(3):
        for side in sides_of(SECOND, "two-ways", {"n": 3, "i": i + 1}, {"p": weights(s), "x": x, "g": g}):
            assert side.item() == pytest.approx(wanted[i], rel=1e-12)


def test_magnitudes_of_second_derivatives_are_those_of_their_step() -> None:
    """The query moves alone: what a key's second derivative may be off by is its terms with every sign positive."""
    q, wq, k, v, cotangent = 0.5, 0.75, np.array([1.0, -2.0, 0.25]), np.array([-1.0, 2.0, 0.5]), 1.5
    row = lambda *numbers: np.array(numbers, float).reshape(1, -1, 1)  # noqa: E731
    inputs = row(q), row(*k), row(*v)
    directions = row(wq), row(0, 0, 0), row(0, 0, 0)
    truth = oracle.attention(*inputs, scale=1.0)
    found = second_bound(inputs, row(cotangent), directions, truth, scale=1.0)
    sizes = tuple(abs(part) for part in inputs)
    rho, _ = _roundings(sizes, row(cotangent), tuple(abs(part) for part in directions), truth, None, 1.0)
    p, x, g = truth.weights.ravel(), abs(wq * k), abs(cotangent * v)
    X, Y = float(x.max()), float(g.max())
    given = {"X": X, "Y": Y, "z": truth.scores.ravel(), "t": x / X, "h": g / Y}
    for i in range(3):
        whole, parts = sides_of(SECOND, "in-parts", {"n": 3, "i": i + 1}, given)
        terms = parts.item() * q + p[i] * (g[i] + 7 * Y) * wq
        assert found.key[0, i, 0] == pytest.approx(2 * rho / (1 - rho) * terms, rel=1e-9, abs=0.0)
        (left, right) = sides_of(SECOND, "magnitudes", {"n": 3, "i": i + 1}, {"p": p, "x": x, "g": g})
        assert whole.item() == pytest.approx(left.item(), rel=1e-12) == pytest.approx(right.item(), rel=1e-12)


def test_the_total_of_a_merge_moves_the_weights_as_its_step_says() -> None:
    """(total-factor): with every y_j above its weight's own rounding, X is what `Merge.factor` calls it."""
    scores = np.array([[0.5, -1.0, 0.25]])
    lse = np.log(np.exp(scores).sum(axis=-1, keepdims=True))
    merge = merge_errors(scores, lse, None, a=U / 8, w=U, c_sum=U)
    _, spread = merge.factor(np.exp(scores - lse), np.ones_like(lse))
    given = {"s": scores[0], "y": merge.total[0], "t": [1.0, 1.0, 1.0]}
    lower, reached = sides_of("merged_parts.md", "total-factor", {"n": 3}, given)
    assert 1 - lower.item() == near(spread.item())
    assert reached.item() == near(1 + spread.item()) and spread.item() > U


NORMS = "normalised_heads.md"


def test_a_norm_has_the_errors_of_its_steps() -> None:
    """(root) and (epsilon): the computed norm is within what `normalised` says, and epsilon's share is the step's."""
    rng = np.random.default_rng(7)
    x, weight = 0.01 * rng.standard_normal((1, 5, 8)), rng.standard_normal(8)
    y, error = rms_normalise(x, weight, 8)
    gamma = SINGLE * 16 / (1 - SINGLE * 16)
    for i in range(5):
        mean = float((x[0, i] ** 2).mean())
        smaller, allowed = (side.item() for side in sides_of(NORMS, "epsilon", {}, {"m": mean, "e": EPS}))
        assert smaller < allowed < 1 / mean**0.5
        assert np.allclose(error[0, i], np.abs(y[0, i]) * (gamma + allowed * mean**0.5), rtol=1e-12)
        assert (np.abs(weight * x[0, i] / (mean + EPS) ** 0.5 - y[0, i]) <= error[0, i]).all()
    _, grown = (side.item() for side in sides_of(NORMS, "root", {}, {"g": SINGLE * 9 / (1 - SINGLE * 9)}))
    assert grown - 1 < gamma


def test_a_layer_norm_has_the_errors_of_its_steps() -> None:
    """(centred) and (layer): what `layer_normalised` allows is their right sides, and the roundings named beside them."""
    rng = np.random.default_rng(9)
    x, weight, shift = 3 + rng.standard_normal((1, 5, 8)), rng.standard_normal(8), rng.standard_normal(8)
    _, error = layer_normalise(x, weight, shift)
    mean, variance = x[0].mean(-1), x[0].var(-1)
    gamma, triple = (SINGLE * k / (1 - SINGLE * k) for k in (9, 32))
    for i in range(5):
        part = triple * float((x[0, i] ** 2).mean()) / float(variance[i])
        for j in range(8):
            away = float(x[0, i, j] - mean[i])
            sides = sides_of(
                NORMS, "centred", {}, {"a": away, "h": gamma * abs(x[0, i]).mean(), "u": SINGLE, "t": 1.0, "p": 1.0}
            )
            c = sides[1].item() / (1 + SINGLE)  # gamma_D (1 + u) <= gamma_{D+1}
            deviation = float(variance[i]) ** 0.5
            given = {"a": away, "c": c, "s": deviation, "r": part, "t": 1.0, "p": 1.0}
            moved = sides_of(NORMS, "layer", {}, given)[1].item()
            epsilon = EPS / (2 * float(variance[i])) * abs(away) / deviation
            rest = 8 * SINGLE * (abs(weight[j] * away / deviation) + abs(shift[j]))
            wanted = abs(weight[j]) * (moved + epsilon) + rest
            assert error[0, i, j] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("two_pass", [True, False])
def test_a_layer_norm_of_single_precision_stays_within_its_errors(two_pass: bool) -> None:
    """Both ways to compute a variance, where the mean is up to a hundred times the deviation."""
    rng = np.random.default_rng(10)
    for offset in (0.0, 1.0, 30.0, 100.0):
        x = (offset + rng.standard_normal((1, 40, 24))).astype(np.float32)
        weight, shift = rng.standard_normal(24), rng.standard_normal(24)
        y, error = layer_normalise(x.astype(np.float64), weight, shift)
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True) if two_pass else (x**2).mean(-1, keepdims=True) - mean**2
        got = weight.astype(np.float32) * (x - mean) / np.sqrt(variance) + shift.astype(np.float32)
        allowed = error + SINGLE * (np.abs(y - shift) + np.abs(shift))  # its weights are rounded, too
        assert (np.abs(got - y) <= allowed).all()


def test_scores_of_normalised_heads_move_the_output_as_their_steps_say() -> None:
    rng = np.random.default_rng(8)
    q, k = rng.standard_normal((1, 1, 1, 3)), rng.standard_normal((1, 1, 4, 3))
    a, b = np.full_like(q, 1e-3), np.full_like(k, 2e-3)
    given = {"q": q[0, 0, 0], "a": a[0, 0, 0], "b": b[0, 0, 0], "r": np.sign(q[0, 0, 0]), "t": np.sign(q[0, 0, 0])}
    steps = [sides_of(NORMS, "score", {"d": 3}, {**given, "k": row})[1].item() for row in k[0, 0]]
    delta = 0.5 * max(steps)
    _, factor = (
        side.item() for side in sides_of(NORMS, "weight", {"n": 1}, {"s": [0.0], "r": [0.0], "\\delta": delta})
    )
    share = {"p": [0.5, 0.5], "v": [1.0, -3.0], "t": [1.0, -1.0], "G": factor - 1}
    _, moved = (side.item() for side in sides_of(NORMS, "moved", {"n": 2}, share))
    got = through_scores(np.zeros((1, 1, 1, 1)), (q, a), (k, b), np.full((1, 1, 1, 1), 2.0), None, 0.5)
    assert got.item() == near(moved)


PROJECTED = "projected_heads.md"


def test_gradients_of_a_projection_are_those_of_their_steps() -> None:
    """(d-input), (d-weight): by the side that is a derivative, not the one that the code writes down."""
    rng = np.random.default_rng(2)
    given = {"x": rng.integers(-3, 4, (4, 2)), "W": rng.integers(-3, 4, (3, 2)), "C": rng.integers(-3, 4, (4, 3))}
    x, weight, cotangent = (np.float64(given[name]) for name in "xWC")
    sizes = {"n": 4, "a": 2, "b": 3}
    assert np.array_equal(
        sides_of(PROJECTED, "d-input", sizes, given)[0], input_gradient([exact(cotangent)], [weight]).want
    )
    assert np.array_equal(
        sides_of(PROJECTED, "d-weight", sizes, given)[0], weight_gradient(exact(cotangent), exact(x)).want
    )


def test_a_sum_of_products_has_the_bound_of_its_step() -> None:
    """(product-sum): the code has its right side, written without a difference that cancels."""
    rng = np.random.default_rng(4)
    y, x = rng.standard_normal(3), rng.standard_normal(3)
    e, f = 2.0**-12 * rng.random(3), 2.0**-12 * rng.random(3)
    signs = {"r": np.ones(3), "s": np.ones(3), "t": np.ones(3)}
    given = {"y": y, "x": x, "e": e, "f": f, "g": gamma(6, SINGLE), **signs}
    found = product_sum(Judged(y[None], e[None]), Judged(x[:, None], f[:, None]), 3)
    wanted = sides_of(PROJECTED, "product-sum", {"n": 3}, given)[1].item()
    assert found.bound.item() == pytest.approx(wanted, rel=1e-9, abs=0.0)
