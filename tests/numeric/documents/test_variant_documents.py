"""The budgets of sigmoid and differential attention are those of derivations/variants.md, step by step."""

from __future__ import annotations

import numpy as np
import pytest

from attention_core import oracle
from attention_core.conformance.budgets.budget import backward_bound
from attention_core.conformance.budgets.error_rows import float_format, gamma
from attention_core.conformance.budgets.head_norm_bound import (
    ROUNDINGS,
    HeadNorm,
    head_norm_bound,
    norm_heads,
    normalise_with_errors,
)
from attention_core.conformance.budgets.head_norm_gradient import norm_gradients
from attention_core.conformance.budgets.variant_bound import (
    ABSOLUTE,
    SIGMOID_ROUNDINGS,
    STORES,
    difference_bound,
    sigmoid_bound,
    sigmoid_weights,
    weights_and_errors,
)
from attention_core.conformance.budgets.variant_gradients import difference_gradients, sigmoid_gradients
from tests.numeric.document_values import sides_of

DOCUMENT, NORMS = "variants.md", "normalised_heads.md"
SCORES = np.array([1.25, -0.75, 0.5])
VALUES = np.array([-1.5, 0.5, 2.0])
ONE = np.ones((1, 1))
FORMATS = [("float32", "float32"), ("bfloat16", "float32"), ("bfloat16", "input")]


def weights_of(scores: np.ndarray, pairs: np.ndarray | None = None, bias: float = 0.0) -> np.ndarray:
    """The weights of one query of 1 for keys that are the scores."""
    allowed = np.ones((1, len(scores)), dtype=bool) if pairs is None else pairs[None]
    return sigmoid_weights(ONE, scores[:, None], allowed, 1.0, bias)[0]


def test_a_pair_is_left_out_by_the_factor_of_its_weight() -> None:
    flags = np.array([1.0, 0.0, 1.0])
    given = {"r": [0.5, -2.0], "x": [3.0, -0.25], "s": SCORES, "v": VALUES, "f": flags}
    scores, values = np.append([0.5, -2.0], SCORES), np.append([3.0, -0.25], VALUES)
    allowed = np.append([True, True], flags.astype(bool))
    for side in sides_of(DOCUMENT, "hidden", {"m": 2, "n": 3}, given):
        assert side.item() == pytest.approx(weights_of(scores, allowed) @ values, rel=1e-13)


@pytest.mark.parametrize("score", [-3.0, -0.5, 0.25, 4.0])
def test_a_weight_is_off_as_its_score_is(score: float) -> None:
    moved, most = sides_of(DOCUMENT, "weight-error", {}, {"s": score, "d": -0.125})
    (weight,) = weights_of(np.array([score]))
    assert moved.item() == pytest.approx(weights_of(np.array([score]), bias=-0.125).item(), rel=1e-13)
    assert most.item() == pytest.approx(np.exp(0.125) * weight, rel=1e-13)


def test_a_hyperbolic_tangent_is_off_by_units_of_one() -> None:
    unit = float_format("float32", "float32").a
    for score in np.linspace(-12, 12, 97):
        left, right = sides_of(DOCUMENT, "near-one", {}, {"s": float(score)})
        assert left.item() == pytest.approx(right.item(), rel=1e-13)
        single = np.float32(0.5) + np.float32(0.5) * np.tanh(np.float32(score) / np.float32(2))
        assert abs(float(single) - left.item()) <= ABSOLUTE * unit


@pytest.mark.parametrize(("dtype", "accumulate"), FORMATS)
def test_the_bound_of_an_output_is_that_of_its_weights_and_of_the_sum(dtype: str, accumulate: str) -> None:
    fmt = float_format(dtype, accumulate)
    bias, n = 0.375, len(SCORES)
    weights = weights_of(SCORES, bias=bias)
    factor = (1 + gamma(1, fmt.a)) * (1 + gamma(STORES, fmt.w)) - 1
    lost = fmt.flush_between * 3
    off = []
    for score, weight in zip(SCORES, weights, strict=True):
        moved = {"s": score + bias, "d": float(factor * (abs(score) + bias) + lost)}
        grown = sides_of(DOCUMENT, "weight-error", {}, moved)[1].item()
        off.append(grown * (1 + gamma(SIGMOID_ROUNDINGS, fmt.w)) - weight + ABSOLUTE * fmt.a + fmt.flush_between)
    given = {"w": weights, "v": VALUES, "e": off, "E": off}
    summed = sides_of(DOCUMENT, "sum-error", {"n": n}, given)[1].item()
    summed += gamma(n + 2, fmt.a) * ((weights + off) @ np.abs(VALUES))
    wanted = (1 + fmt.u) * summed + fmt.u * abs(weights @ VALUES) + (n + 2) * fmt.flush
    found = sigmoid_bound(
        ONE, SCORES[:, None], VALUES[:, None], np.ones((1, n), dtype=bool), scale=1.0, bias=bias, dtype=dtype,
        accumulate=accumulate,
    )  # fmt: skip
    assert found.item() == pytest.approx(wanted, rel=1e-6)  # growth less 1 in float64: 2^-53 beside 2^-24


@pytest.mark.parametrize(("dtype", "accumulate"), FORMATS)
def test_the_bound_of_a_difference_is_that_of_both_outputs(dtype: str, accumulate: str) -> None:
    fmt = float_format(dtype, accumulate)
    x, y, first, second, t = 0.75, -1.25, 0.125, 0.0625, -0.5
    given = {"x": x, "y": y, "e": first, "f": second, "E": first, "F": second, "t": t}
    most = sides_of(DOCUMENT, "difference", {}, given)[1].item()
    spread = 1.5 + abs(t) * 2.0
    wanted = most + gamma(3, fmt.w) * (spread + most) + fmt.u * abs(x - t * y) + 4 * fmt.flush
    maps = [tuple(np.array(number) for number in one) for one in ((x, first, 1.5), (y, second, 2.0))]
    found = difference_bound(maps[0], maps[1], t, dtype=dtype, accumulate=accumulate)
    assert found.item() == pytest.approx(wanted, rel=1e-13)


# --- gradients and norms ----------------------------------------------------------------------------------


def test_the_gradient_of_a_score_has_the_slope_of_its_weight_and_the_bias_their_sum() -> None:
    score = np.array([0.75])
    derivative, product = (side.item() for side in sides_of(DOCUMENT, "slope", {}, {"s": score.item()}))
    keys, down = SCORES[:, None], ONE
    found = sigmoid_gradients(
        *(x[None, None] for x in (ONE, score[:, None], ONE, ONE)), np.ones((1, 1), dtype=bool), scale=1.0, bias=0.0,
        group=1, dtype="float64", accumulate="input",
    )  # fmt: skip
    assert derivative == pytest.approx(product, rel=1e-12)
    assert found["query"][0].item() == pytest.approx(product * score.item(), rel=1e-12)
    assert found["bias"][0].item() == pytest.approx(product, rel=1e-12)
    whole = sigmoid_gradients(
        *(x[None, None] for x in (ONE, keys, VALUES[:, None], down)), np.ones((1, 3), dtype=bool), scale=1.0, bias=0.375,
        group=1, dtype="float64", accumulate="input",
    )  # fmt: skip
    for side in sides_of(DOCUMENT, "bias-gradient", {"n": 3}, {"s": SCORES, "v": VALUES, "b": 0.375}):
        assert whole["bias"][0].item() == pytest.approx(side.item(), rel=1e-12)


@pytest.mark.parametrize(("dtype", "accumulate"), FORMATS)
def test_the_bound_of_the_bias_is_that_of_slopes_and_products(dtype: str, accumulate: str) -> None:
    fmt = float_format(dtype, accumulate)
    pairs, bias, down = np.ones((1, 3), dtype=bool), 0.375, -0.75
    weights, off = (x.ravel() for x in weights_and_errors(ONE, SCORES[:, None], pairs, scale=1.0, bias=bias, fmt=fmt))
    total, reach = 0.0, 0.0
    for weight, error, value in zip(weights, off, VALUES, strict=True):
        moved = sides_of(DOCUMENT, "slope-error", {}, {"p": weight, "r": weight - error})[1].item()
        slope = weight * (1 - weight)
        slope_off = moved + gamma(4, fmt.w) * (slope + moved)
        passed = down * value
        passed_off = ((1 + gamma(1, fmt.a)) * (1 + fmt.w) - 1) * abs(passed) + fmt.flush_between
        given = {"x": slope, "y": passed, "d": slope_off, "h": passed_off, "E": slope_off, "F": passed_off}
        product = sides_of(DOCUMENT, "slope-product", {}, given)[1].item()
        product += gamma(3, fmt.w) * (slope + slope_off) * (abs(passed) + passed_off) + fmt.flush_between
        total, reach = total + product, reach + slope * abs(passed) + product
    exact = weights * (1 - weights) @ (down * VALUES)
    wanted = total + gamma(3, fmt.a) * reach
    wanted = (1 + gamma(3, fmt.u)) * wanted + gamma(3, fmt.u) * abs(exact) + 4 * fmt.flush
    arrays = (x[None, None] for x in (ONE, SCORES[:, None], VALUES[:, None], np.full((1, 1), down)))
    found = sigmoid_gradients(*arrays, pairs, scale=1.0, bias=bias, group=1, dtype=dtype, accumulate=accumulate)
    assert found["bias"][1].item() == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize(("dtype", "accumulate"), FORMATS)
def test_the_gradients_of_a_difference_are_those_of_its_maps_and_of_lambda(dtype: str, accumulate: str) -> None:
    fmt = float_format(dtype, accumulate)
    down, outs, bounds = np.array([0.5, -2.0]), np.array([1.5, 0.25]), np.array([0.125, 0.0625])
    spread = np.array([2.0, 0.5])
    names = ("query", "key", "value")
    maps = [
        {name: tuple(np.full(1, x) for x in (a, b, c)) for name in names} for a, b, c in ((3.0, 0.5, 4.0), (1, 0.25, 2))
    ]
    found = difference_gradients(
        (maps[0], outs, bounds, spread), (maps[1], outs, bounds, spread), down, 3, dtype=dtype, accumulate=accumulate
    )  # type: ignore[arg-type]
    g = gamma(3, fmt.w)
    given = {"c": np.array([4.5]), "g": np.ones(1), "r": g, "t": np.ones(1)}
    most = sides_of(DOCUMENT, "map-gradient", {"n": 1}, given)[1].item()
    assert found["query"][1].item() == pytest.approx(0.5 + most, rel=1e-13)
    for side in sides_of(DOCUMENT, "lambda-gradient", {"n": 2}, {"x": outs, "y": outs, "g": down, "t": 0.25}):
        assert found["weight"][0].item() == pytest.approx(side.item(), rel=1e-13)
    reach = np.abs(down) @ (spread + bounds)
    error = np.abs(down) @ bounds + (gamma(2 + 3 + 4, fmt.a) + g) * reach
    wanted = (1 + gamma(1, fmt.u)) * error + gamma(1, fmt.u) * abs(down @ outs) + 4 * fmt.flush
    assert found["weight"][1].item() == pytest.approx(wanted, rel=1e-13)


@pytest.mark.parametrize(("dtype", "accumulate"), FORMATS)
@pytest.mark.parametrize("kind", ["rms", "layer"])
def test_the_bound_of_a_norm_is_that_of_its_root_and_its_quotient(kind: str, dtype: str, accumulate: str) -> None:
    fmt, n = float_format(dtype, accumulate), 3
    norm, bound = HeadNorm(kind, np.array([1.5, -0.5, 2.0]), 0.25, 0.75), np.array([0.0078125, 0.015625, 0.0])
    centred, error, relative = VALUES, bound, gamma(n, fmt.a)
    both = np.abs(VALUES) + bound
    if kind == "layer":
        centred = VALUES - VALUES.mean()
        error = bound + bound.mean() + gamma(n + 1, fmt.a) * both.mean() + fmt.w * (both + both.mean())
        relative = gamma(3 * n + 8, fmt.a)
    given = {"x": centred, "e": error, r"\epsilon": norm.eps}
    most_root = sides_of(DOCUMENT, "norm-size", {"n": n}, given)[1].item()
    root = float(np.sqrt((centred**2).mean() + norm.eps))
    part = (relative * (both**2).mean() + 2 * fmt.flush_between) / (root - most_root) ** 2
    if kind == "rms":
        part = min(part, relative + 2 * fmt.flush_between / norm.eps)
    part += gamma(ROUNDINGS, fmt.w)
    found = head_norm_bound(VALUES, bound, norm, dtype=dtype, accumulate=accumulate)
    for i in range(n):
        given = {"x": centred[i], "e": 0.0, "s": 0.0, "E": error[i], "R": most_root, "r": root}
        quotient, moved = sides_of(DOCUMENT, "norm-error", {}, given)[1], 0.0
        moved = quotient.item() + part * (abs(centred[i]) / root + quotient.item())
        outer = abs(norm.factor * norm.weight[i])
        wanted = (1 + fmt.u) * outer * moved + fmt.u * outer * abs(centred[i]) / root + 2 * fmt.flush
        assert found[i] == pytest.approx(wanted, rel=1e-12)


def test_no_normalised_entry_is_larger_than_the_root_of_their_number() -> None:
    given = {"x": VALUES, r"\epsilon": 0.25}
    entry, most = sides_of(DOCUMENT, "norm-most", {"n": 3}, given)
    assert entry.item() == pytest.approx(abs(norm_heads(VALUES, HeadNorm("rms", np.ones(3), 0.25))[0]), rel=1e-13)
    wide = head_norm_bound(
        VALUES, np.full(3, 1e9), HeadNorm("rms", np.ones(3), 0.25), dtype="float64", accumulate="input"
    )
    assert wide == pytest.approx(np.full(3, 2 * most.item()), rel=1e-9)


@pytest.mark.parametrize("accumulate", ["float32", "input"])
def test_the_variance_of_a_layer_norm_of_each_head_is_off_by_its_steps(accumulate: str) -> None:
    """As the mean square less the squared mean: the parts of (mean-square) and (squared-mean) move an entry less."""
    x, fmt = np.array([2.0, 2.25, 1.75, 2.5]), float_format("bfloat16", accumulate)
    n, square, size = len(x), float((x**2).mean()), float(np.abs(x).mean())
    given = {"x": x, "g": gamma(n + 1, fmt.a), "t": np.ones(n)}
    first = sides_of(NORMS, "mean-square", {"D": n}, given)[1].item()
    given = {"A": size, "\\mu": float(x.mean()) / size, "g": gamma(n, fmt.a), "t": 1.0}
    off = first + sides_of(NORMS, "squared-mean", {}, given)[1].item()
    assert off <= gamma(3 * n + 8, fmt.a) * square
    norm = HeadNorm("layer", np.ones(n), 0.5)
    truth, variance = norm_heads(x, norm), float(x.var()) + norm.eps
    moved = (x - x.mean()) / np.sqrt(variance - off)
    assert (
        np.abs(moved - truth) <= head_norm_bound(x, np.zeros(n), norm, dtype="bfloat16", accumulate=accumulate)
    ).all()


def test_the_gradient_of_a_norm_is_that_of_its_steps() -> None:
    """Along a direction; and of a layer norm less its mean, as the transpose of what takes the mean off."""
    up, along = np.array([0.5, -1.25, 0.75]), np.array([1.0, -0.5, 0.25])
    norm = HeadNorm("rms", np.array([1.0, 2.0, -0.5]), 0.25, 0.75)
    found = norm_gradients(VALUES, 0 * VALUES, up, norm, dtype="float64", accumulate="input")
    given = {"g": norm.factor * norm.weight * up, "x": VALUES, "d": along, "t": 0.0, r"\epsilon": norm.eps}
    for side in sides_of(DOCUMENT, "norm-gradient", {"n": 3}, given):
        assert side.item() == pytest.approx(found.out @ along, rel=1e-12)
    whole = found.out - found.out.mean()
    for side in sides_of(DOCUMENT, "norm-centred", {"n": 3}, {"g": found.out, "x": along}):
        assert side.item() == pytest.approx(whole @ along, rel=1e-12)
    centred, layer = VALUES - VALUES.mean(), HeadNorm("layer", norm.weight, 0.25, 0.75)
    inner = norm_gradients(centred, 0 * VALUES, up, norm, dtype="float64", accumulate="input").out
    of_layer = norm_gradients(VALUES, 0 * VALUES, up, layer, dtype="float64", accumulate="input").out
    assert of_layer == pytest.approx(inner - inner.mean(), rel=1e-12)


@pytest.mark.parametrize(("off", "root_moves"), [(1e-3, True), (10.0, False)])
def test_a_reciprocal_is_off_by_its_step_and_by_no_more_than_epsilon_allows(off: float, root_moves: bool) -> None:
    """An upstream gradient across the outputs has no mean: the reciprocal shows."""
    norm, bound = HeadNorm("rms", np.ones(3), 0.25), np.full(3, off)
    heads = normalise_with_errors(VALUES, bound, norm, dtype="float64", accumulate="input")
    root, moved = heads.root.item(), heads.moved_root.item()
    up = np.cross(VALUES, [1.0, 0.0, 0.0])  # stands across the outputs: no mean
    found = norm_gradients(VALUES, bound, up, norm, dtype="float64", accumulate="input")
    if root_moves:
        inverse = sides_of(DOCUMENT, "norm-inverse", {}, {"s": 0.0, "R": moved, "r": root})[1].item()
    else:
        inverse = 1 / np.sqrt(norm.eps)
    mean_off = (np.abs(up) * heads.off).mean()
    inner_off = np.abs(heads.entries) * mean_off + heads.off * mean_off
    assert found.out_off == pytest.approx(inner_off * (1 / root + inverse) + np.abs(up) * inverse, rel=1e-9)


def test_an_upstream_gradient_that_is_off_moves_scores_and_values_by_its_steps() -> None:
    """In float64, where what is rounded is far less."""
    query, down = np.array([[[1.0, -0.5]]]), np.array([[[0.75, -0.25]]])
    key, value = np.array([[[0.5, 1.0], [-1.0, 0.25]]]), np.array([[[1.0, -2.0], [0.5, 0.25]]])
    slack = np.array([[[1e-3, 2e-3]]])
    truth = oracle.attention(query, key, value, dead_rows="zeros", scale=1.0)
    true = oracle.gradients(query, key, value, down, truth=truth, dead_rows="zeros", scale=1.0)
    how = {"dtype": "float64", "accumulate": "input", "dead_rows": "zeros", "scale": 1.0}
    limits = backward_bound(query, key, value, down, truth, true, slack=slack, **how)
    weights, out = truth.weights[0, 0], truth.out[0, 0]
    moved = []
    for j in range(2):
        given = {"y": down[0, 0], "v": value[0, j], "o": out, "e": slack[0, 0], "E": slack[0, 0]}
        moved.append(weights[j] * sides_of(DOCUMENT, "cotangent", {"n": 2}, given)[1].item())
    assert limits.query[0, 0] == pytest.approx(moved @ np.abs(key[0]), rel=1e-9)
    for c in range(2):
        given = {"R": 0.0, "p": weights[:1], "r": [0.0], "y": down[0, :, c], "e": [0.0], "E": slack[0, :, c]}
        wanted = sides_of(DOCUMENT, "cotangent-value", {"n": 1}, given)[1].item()
        assert limits.value[0, 0, c] == pytest.approx(wanted, rel=1e-9)
