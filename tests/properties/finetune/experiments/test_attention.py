"""The attention with parts to replace: with none replaced it is the model's own; every score is causal in it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from attention_core.conformance import Implementation, check_implementation
from finetune.errors import BadInput
from finetune.experiments.attention import PluggedAttention, ScoredMix, causal_softmax
from finetune.experiments.scores import SCORES
from finetune.models.gpt import DotProductAttention, GPTConfig

CONFIG = GPTConfig(10, 12, 1, 2, 8, dropout=0.0)


def causal_kernel(name: str) -> Any:
    """A score function as a kernel of the engine: (query, key, value, is_causal)."""

    def attend(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
        torch.manual_seed(0)
        score = SCORES[name](query.shape[1], query.shape[-1]).to(query.dtype)
        weigh = causal_softmax if is_causal else lambda scores: torch.softmax(scores, -1)
        return ScoredMix(score, weigh)(query, key, value).detach()

    return attend


@pytest.mark.thorough(keep=("scaled dot", "bilinear"))
@pytest.mark.parametrize("name", SCORES)
def test_the_engine_finds_no_leak_in_a_score(name: str) -> None:
    """The law that refutes the late mask holds for every score."""
    claims = ("is_causal",)
    target = Implementation(
        causal_kernel(name),
        dtypes=("float64",),
        gradients=False,
        sizes=lambda n_q, n_kv, *_: n_q == n_kv,
        claims=claims,
    )
    report = check_implementation(target, effort="quick", laws=["no_row_sees_a_later_one"])
    assert [result.status for result in report.laws] == ["held"], report.laws


def test_with_nothing_replaced_it_is_the_models_own() -> None:
    torch.manual_seed(0)
    own, plugged = DotProductAttention(CONFIG).double(), PluggedAttention(CONFIG).double()
    missing = plugged.load_state_dict(own.state_dict())
    assert not missing.missing_keys and not missing.unexpected_keys
    x = torch.randn(2, 7, 8, dtype=torch.float64)
    # both are the same sums in another order: far below 1e-12 in float64
    assert torch.allclose(own(x, 0, None), plugged(x, 0, None), atol=1e-12)
    turned, turned_too = (
        DotProductAttention(CONFIG, rotated=True).double(),
        PluggedAttention(CONFIG, rotated=True).double(),
    )
    turned_too.load_state_dict(turned.state_dict())
    assert torch.allclose(turned(x, 0, None), turned_too(x, 0, None), atol=1e-12)


@pytest.mark.parametrize(
    ("shared", "matrices"), [("", 4), ("qk", 3), ("kv", 3), ("qv", 3), ("qkv", 2)], ids=lambda value: str(value)
)
def test_shared_projections_are_one_and_get_all_gradients(shared: str, matrices: int) -> None:
    attention = PluggedAttention(CONFIG, shared=shared)
    assert sum(1 for p in attention.parameters() if p.ndim == 2) == matrices
    attention(torch.randn(1, 5, 8), 0, None).sum().backward()
    assert attention.value.get_parameter("weight").grad is not None
    assert ("q" in shared and "k" in shared) == (attention.query is attention.key)


def test_a_projection_can_be_replaced() -> None:
    attention = PluggedAttention(CONFIG, project={"value": lambda E: nn.Identity()})
    assert isinstance(attention.value, nn.Identity) and isinstance(attention.key, nn.Linear)


def test_it_keeps_no_cache() -> None:
    with pytest.raises(BadInput, match="cached=False"):
        PluggedAttention(CONFIG).new_cache()
