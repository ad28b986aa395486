"""Synthesizer attention: value, causality, cut columns, cache, gradients, parameter counts, refusals.

attention_core.modules.synthesizer against the equation written as loops in float64, in its three forms.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from attention_core.modules.synthesizer import Form, SynthesizerSelfAttention, ValueCache, synthesizer_attention

FORMS: list[Form] = ["per_head", "per_head_bias", "shared"]
B, N, E, H, L = 2, 5, 12, 3, 7
D = E // H
# Sums of at most E + 2 terms of size about 1, then a softmax of n terms and two more products, all in float64: the
# relative error of each step is below its number of terms times u, and ten steps of E + n terms bound them all.
BOUND = 10 * (E + L) * 2.0**-53 * 10


def module(form: Form, seed: int = 0) -> SynthesizerSelfAttention:
    made = SynthesizerSelfAttention(E, H, L, form).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator).double() / 2)
    return made


def inputs(n: int = N, seed: int = 1) -> torch.Tensor:
    return torch.randn(B, n, E, generator=torch.Generator().manual_seed(seed)).double()


def written_out(made: SynthesizerSelfAttention, x: torch.Tensor) -> np.ndarray:
    """Equations 4 and 5 of the assignment, one row at a time."""
    p = {name: value.detach().numpy() for name, value in made.named_parameters()}
    result = np.zeros(x.shape)
    for b, sequence in enumerate(x.numpy()):
        for i in range(len(sequence)):
            heads = []
            for h in range(H):
                rows = slice(h * D, (h + 1) * D)
                hidden = np.maximum(p["w1.weight"][rows] @ sequence[i] + p["w1.bias"][rows], 0)
                w2 = p["w2"] if made.form == "shared" else p["w2"][h]
                b2 = p["b2"][h] if made.form == "per_head_bias" else p["b2"]
                scores = [float(hidden @ w2[:, j] + b2[j]) for j in range(i + 1)]
                weights = [math.exp(s - max(scores)) for s in scores]
                values = [p["value.weight"][rows] @ sequence[j] + p["value.bias"][rows] for j in range(i + 1)]
                heads.append(sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights))
            result[b, i] = p["proj.weight"] @ np.concatenate(heads) + p["proj.bias"]
    return result


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [1, N, L])
def test_it_is_the_equation(form: Form, n: int) -> None:
    made, x = module(form), inputs(n)
    got, want = made(x).detach().numpy(), written_out(made, x)
    assert np.abs(got - want).max() <= BOUND * max(1.0, np.abs(want).max())


@pytest.mark.parametrize("form", FORMS)
def test_no_row_sees_a_later_one_and_places_beyond_the_sequence_have_no_weight(form: Form) -> None:
    made, x = module(form), inputs()
    before = made(x)
    for later in range(1, N):
        changed = x.clone()
        changed[:, later:] = 1e3
        # The same products in the same order: what comes before is untouched to the bit.
        assert torch.equal(made(changed)[:, :later], before[:, :later])
    with torch.no_grad():
        made.w2[..., N:] = torch.nan
        made.b2[..., N:] = torch.nan
    assert torch.equal(made(x), before)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cuts", [set(), {1}, {L - 1}, {2, 3}, set(range(1, L))], ids=str)
def test_pieces_with_a_cache_are_the_whole(form: Form, cuts: set[int]) -> None:
    made, x = module(form), inputs(L)
    cache, edges = ValueCache(), [0, *sorted(cuts), L]
    pieces = [made(x[:, a:b], cache) for a, b in pairwise(edges)]
    assert (torch.cat(pieces, 1) - made(x)).abs().max() <= BOUND * 10


def test_a_score_depends_on_the_place_and_not_on_the_other_token() -> None:
    """What dot products can do and this cannot: swapping two earlier tokens swaps no weights, only values."""
    hidden, w2, b2 = torch.randn(1, 1, 3, 4).double(), torch.randn(4, 3).double(), torch.zeros(3).double()
    weights = synthesizer_attention(hidden, torch.eye(3).double()[None, None], w2, b2)[0, 0]
    swapped = synthesizer_attention(hidden, torch.eye(3).double()[[1, 0, 2]][None, None], w2, b2)[0, 0]
    assert torch.equal(swapped[:, [1, 0, 2]][2], weights[2])


def test_equal_scores_give_the_mean_of_the_values_so_far() -> None:
    value = torch.tensor([[[[2.0], [4.0], [9.0]]]])
    out = synthesizer_attention(torch.zeros(1, 1, 3, 2), value, torch.zeros(2, 3), torch.zeros(3))
    assert out.flatten().tolist() == [2.0, 3.0, 5.0]


@pytest.mark.thorough(keep=("per_head_bias",))
@pytest.mark.parametrize("form", FORMS)
def test_gradients_are_right(form: Form) -> None:
    made, x = module(form), inputs(3).requires_grad_()
    torch.autograd.gradcheck(made, (x,))
    names, values = zip(*made.named_parameters(), strict=True)

    def by_parameters(*given: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(made, dict(zip(names, given, strict=True)), (x.detach(),))

    torch.autograd.gradcheck(by_parameters, values)


@pytest.mark.parametrize(
    ("form", "max_len", "whole_model"),
    [("shared", 127, 3_076_988), ("per_head", 128, 3_191_808), ("per_head_bias", 128, 3_195_392)],
)
def test_parameters_are_as_many_as_the_forms_have_in_the_assignment(form: Form, max_len: int, whole_model: int) -> None:
    """Four layers of 256 and 8 heads, in a model of 3 323 392 parameters with four 256 x 256 projections a layer."""
    own = sum(p.numel() for p in SynthesizerSelfAttention(256, 8, max_len, form).parameters())
    assert 3_323_392 + 4 * (own - 4 * 256 * 257) == whole_model


def test_dropout_is_on_in_training_alone() -> None:
    made = SynthesizerSelfAttention(E, H, L, dropout=0.5).double()
    x = inputs()
    torch.manual_seed(0)
    assert not torch.equal(made(x), made(x))
    made.eval()
    assert torch.equal(made(x), made(x))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: module("shared")(inputs(L + 1)), "scores for 7 places, but 8 are asked for"),
        (lambda: SynthesizerSelfAttention(12, 5, 7), "12 features, 5 heads"),
        (lambda: SynthesizerSelfAttention(12, 3, 7, "eq5"), "form must be one of per_head"),  # type: ignore[arg-type]
        (lambda: synthesizer_attention(*[torch.zeros(1, 1, n, 2) for n in (3, 2)], torch.zeros(2, 9), torch.zeros(9)),
         "3 tokens cannot stand at 2 places"),
    ],
)  # fmt: skip
def test_bad_calls(call, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=words):
        call()
