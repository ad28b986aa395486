"""A user's function in a GPT: both contracts, and the same numbers as the model's own attention."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from attention_core.kernels.dot_product import dot_product_attention
from attention_core.modules.self_attention import self_attention
from finetune.characters.own_attention import OwnAttention, contract_of, is_plugged, verify_own_attention
from finetune.errors import BadInput
from finetune.models.gpt import DotProductAttention, GPTConfig


def other_names(a: Any, b: Any, c: Any, num_heads: int, masked: bool) -> Any:
    return self_attention(a, b, c, num_heads, masked)


def reversed_settings(Q: Any, K: Any, V: Any, causal: bool, n_heads: int) -> Any:
    return self_attention(Q, K, V, n_heads, causal)


@pytest.mark.parametrize("function", [self_attention, other_names, reversed_settings, dot_product_attention])
def test_the_projections_and_the_numbers_are_those_of_the_model(function: Any) -> None:
    torch.manual_seed(0)
    own, x = DotProductAttention(GPTConfig(10, 8, 1, 2, 8, dropout=0.0)).double(), torch.randn(2, 5, 8).double()
    plugged = OwnAttention(own, function, contract_of(function), "f")
    assert is_plugged(plugged) and not is_plugged(own)
    # the same sums in another order, in float64
    assert torch.allclose(plugged(x, 0, None), own(x, 0, None), atol=1e-12)


def test_the_command_that_shows_more_can_be_pasted(monkeypatch: pytest.MonkeyPatch) -> None:
    report = SimpleNamespace(verdict="refuted", reason=lambda: "agrees_with_truth")
    monkeypatch.setattr("finetune.characters.own_attention.verify_target", lambda *arguments, **options: report)
    with pytest.raises(BadInput, match=r"`attention-core verify --contract attention 'my folder/a\.py:f'`"):
        verify_own_attention("my folder/a.py:f", "attention")


def test_what_the_function_raises_is_one_line() -> None:
    def broken(Q: Any, K: Any, V: Any, n_heads: int, causal: bool) -> Any:
        raise RuntimeError("no such thing")

    own = DotProductAttention(GPTConfig(10, 8, 1, 2, 8))
    with pytest.raises(BadInput, match=r"broken\.py:f failed on .*no such thing"):
        OwnAttention(own, broken, "self-attention", "broken.py:f")(torch.zeros(1, 3, 8), 0, None)
    with pytest.raises(BadInput, match="cached"):
        OwnAttention(own, broken, "self-attention", "broken.py:f").new_cache()
