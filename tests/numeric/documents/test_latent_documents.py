"""The steps of derivations/latent.md are what the truth, the kernels and the budget compute."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attention_core.conformance.budgets.latent_bound import latent_errors
from attention_core.conformance.subjects.latent_subject import Inputs
from attention_core.kernels.latent import absorbed_latent_attention
from tests.numeric.document_values import sides_of

DOCUMENT = "latent.md"
Q, W, C = np.array([0.5, -1.0]), np.array([[1.0, 2.0, -1.0], [0.25, 0.0, 3.0]]), np.array([2.0, -0.5, 1.0])


def test_a_projected_key_is_an_absorbed_query() -> None:
    """(absorbed-key): the score of the truth's key."""
    left, right = (
        side.item() for side in sides_of(DOCUMENT, "absorbed-key", {"d": 2, "r": 3}, {"q": Q, "W": W, "c": C})
    )
    one = np.zeros((1, 1, 1, 1))
    inputs = Inputs(Q[None, None, None], one, C[None, None], one[0], W[None], W[None])
    query, key, _ = inputs.materialise()
    assert (query @ key.swapaxes(-1, -2)).item() == pytest.approx(left) == pytest.approx(right)


def test_the_mean_of_values_is_that_of_latents_projected() -> None:
    """(absorbed-value): what the absorbed kernel gives where all scores are 0."""
    latents = np.array([C, -C + 1, C * C])
    given = {"p": [1 / 3] * 3, "C": latents, "V": W}
    left, right = sides_of(DOCUMENT, "absorbed-value", {"n": 3, "m": 2, "r": 3}, given)
    c, w, zero = torch.tensor(latents)[None], torch.tensor(W)[None], torch.zeros(1, 1, 1, 1).double()
    got = absorbed_latent_attention(zero, zero, c, zero[0].expand(1, 3, 1), torch.zeros(1, 1, 3).double(), w)
    for side in (left, right):
        assert got.flatten().tolist() == pytest.approx(side.ravel().tolist())


def test_both_parts_of_a_score_have_one_scale() -> None:
    """(one-scale): a query of two features, one with positions, against one key and one that scores 0."""
    left, right = (side.item() for side in sides_of(DOCUMENT, "one-scale", {}, {"x": 1.5, "y": -0.5, "s": 0.25}))
    query, rotated = torch.tensor([[[[1.5]]]]), torch.tensor([[[[-0.5]]]])
    keys, ones = torch.tensor([[[1.0], [0.0]]]), torch.ones(1, 1, 1)
    got = absorbed_latent_attention(query, rotated, keys, keys, ones, ones, scale=0.25).item()
    assert np.log(got / (1 - got)) == pytest.approx(left, rel=1e-5) and left == right


def test_the_errors_of_two_parts_are_of_both() -> None:
    """(score-parts): with h as the budget has it, for parts of sizes 2 and 3."""
    one = np.ones((1, 1, 1, 1))
    found = latent_errors(one, 2 * one[0], 3 * one[0], one[0], one[0], scale=1.0, dtype="bfloat16", accumulate="input")
    given = {"x": 2.0, "y": 3.0, "h": found.score, "t": 1.0, "s": 1.0}
    moved, allowed = (side.item() for side in sides_of(DOCUMENT, "score-parts", {}, given))
    assert moved == pytest.approx(allowed) == pytest.approx(found.score * found.key_size.sum())


def test_what_underflow_may_take_is_of_the_latents() -> None:
    """(latent-underflow): an absorbed query off by the smallest number of float16; a key that is stored comes on top."""
    one = np.ones((1, 1, 1, 1))
    latent, up = C[None, None], np.ones((1, 1, 3))
    found = latent_errors(0 * one, latent, one[0], up, up, scale=1.0, dtype="float16", accumulate="input")
    given = {"q": [1.0, 2.0, 3.0], "c": C, "t": [1.0, -1.0, 1.0], "f": 2.0**-24}
    moved, allowed = (side.item() for side in sides_of(DOCUMENT, "latent-underflow", {"r": 3}, given))
    assert moved == pytest.approx(allowed) == pytest.approx(np.asarray(found.score_lost).item())
