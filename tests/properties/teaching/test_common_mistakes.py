"""Common mistakes: each is told in its own words, and the right function is told nothing."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch

from attention_core.teaching.common_mistakes import STEPS, WHOLE, attend, draw_inputs, name_mistake

RIGHT = {
    "pairwise_similarities": lambda Q, K: Q @ K.mT,
    "attn_scaled": lambda A, n_embd, n_heads: A / (n_embd / n_heads) ** 0.5,
    "attn_softmax": lambda A: torch.softmax(A, -1),
    "compute_outputs": lambda A, V: A @ V,
    "make_causal_mask": lambda n: torch.ones(n, n, dtype=torch.bool).tril(),
    "apply_causal_mask": lambda mask, A: A.masked_fill(~mask, -torch.inf),
    "split_heads": lambda Q, n_heads: Q.unflatten(-1, (n_heads, -1)).transpose(1, 2),
    "merge_heads": lambda y: y.transpose(1, 2).flatten(2),
}


@pytest.mark.parametrize("kind", ["", *STEPS])
def test_each_mistake_is_told_in_its_own_words(kind: str) -> None:
    contract = "self-attention-steps" if kind else "self-attention"
    for words, wrong in (STEPS[kind] if kind else WHOLE).items():
        assert name_mistake(wrong, contract, kind) == words


@pytest.mark.parametrize("kind", ["", *STEPS])
def test_what_is_right_is_told_nothing(kind: str) -> None:
    contract = "self-attention-steps" if kind else "self-attention"
    assert name_mistake(RIGHT[kind] if kind else attend, contract, kind) == ""


def test_no_two_mistakes_give_the_same_numbers() -> None:
    results = [torch.stack([wrong(*values) for values in draw_inputs("")]) for wrong in WHOLE.values()]
    assert not any(torch.allclose(a, b, equal_nan=True) for a, b in combinations(results, 2))


def test_what_fails_or_is_of_another_contract_is_told_nothing() -> None:
    assert name_mistake(lambda A: 1 / 0, "self-attention-steps", "attn_softmax") == ""
    assert name_mistake(lambda A: None, "self-attention-steps", "attn_softmax") == ""
    assert name_mistake(lambda A: torch.softmax(A, -2), "attention") == ""
    assert name_mistake(lambda A: torch.softmax(A, -2).float(), "self-attention-steps", "attn_softmax") == ""
