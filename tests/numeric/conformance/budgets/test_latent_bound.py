"""The budget of latent attention: absorbed and materialised stay within it, a projection off by little does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attention_core import oracle
from attention_core.conformance.budgets.budget import forward_bound, round_to
from attention_core.conformance.budgets.error_rows import float_format, gamma
from attention_core.conformance.budgets.latent_bound import latent_errors
from attention_core.conformance.subjects.latent_subject import Inputs


def draw(seed: int, dtype: str) -> Inputs:
    rng = np.random.default_rng(seed)
    n, r, d, d_rope = (int(rng.integers(1, top)) for top in (40, 40, 20, 9))
    shapes = ((2, 3, 2, d), (2, 3, 2, d_rope), (2, n, r), (2, n, d_rope), (3, d, r), (3, 5, r))
    return Inputs(
        *(round_to(rng.standard_normal(shape) / (r**0.5 if len(shape) == 3 else 1), dtype) for shape in shapes)
    )


def bound_of(inputs: Inputs, dtype: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The true output and its budget."""
    query, key, value = inputs.materialise()
    how: dict[str, Any] = {"dtype": dtype, "accumulate": "input", "scale": query.shape[-1] ** -0.5}
    own = (inputs.query, inputs.latent, inputs.key_rope, inputs.up_key, inputs.up_value)
    truth = oracle.attention(query, key, value)
    return truth.out, forward_bound(query, key, value, truth, stored=latent_errors(*own, **how), **how).out


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("way", ["absorbed", "materialised", "scaled early"])
def test_right_arithmetic_stays_within_it(way: str, dtype: str) -> None:
    worst = 0.0
    for seed in range(8):
        inputs = draw(seed, dtype)
        q, q_rope, c, k_rope, w_uk, w_uv = (torch.tensor(x).to(getattr(torch, dtype)) for x in inputs)
        scale = (q.shape[-1] + q_rope.shape[-1]) ** -0.5
        if way == "materialised":
            key, value = torch.einsum("har,bnr->bhna", w_uk, c), torch.einsum("har,bnr->bhna", w_uv, c)
            got = ((q @ key.mT + q_rope @ k_rope[:, None].mT) * scale).softmax(-1) @ value
        else:
            early, late = (scale, 1.0) if way == "scaled early" else (1.0, scale)
            scores = (q @ (w_uk * early)) @ c[:, None].mT + (q_rope * early) @ k_rope[:, None].mT
            got = ((scores * late).softmax(-1) @ c[:, None]) @ w_uv.mT
        out, bound = bound_of(inputs, dtype)
        worst = max(worst, float((np.abs(got.double().numpy() - out) / bound).max()))
    assert 0.004 < worst <= 1, worst


@pytest.mark.parametrize("name", ["up_key", "up_value", "key_rope"])
def test_an_error_of_a_thousandth_leaves_it(name: str) -> None:
    inputs = draw(3, "float32")
    out, bound = bound_of(inputs, "float32")
    other = inputs._replace(**{name: 1.001 * getattr(inputs, name)})
    assert (np.abs(oracle.attention(*other.materialise()).out - out) > bound).any()


def test_sizes_are_those_of_the_terms() -> None:
    """A key that is 0 as a sum of two terms has the size of both."""
    one = np.ones((1, 1, 1, 1))
    latent, up = np.array([[[1.0, -1.0]]]), np.array([[[2.0, 2.0]]])
    found = latent_errors(one, latent, one[0], up, up, scale=1.0, dtype="bfloat16", accumulate="input")
    assert found.key_size.tolist() == [[[[4.0, 1.0]]]] and found.value_size.tolist() == [[[[4.0]]]]
    fmt = float_format("bfloat16", "input")
    assert found.score == found.mean == (1 + gamma(3, fmt.native)) * (1 + gamma(6, fmt.a)) - 1
