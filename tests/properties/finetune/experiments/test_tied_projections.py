"""Tied projections: the names say what is shared, and Q = K makes scores symmetric."""

from __future__ import annotations

import torch

from attention_core.kernels.heads import split_heads
from finetune.experiments.attention import PluggedAttention
from finetune.experiments.scores import ScaledDot
from finetune.experiments.tied_projections import EXPERIMENT, SHARED
from finetune.models.gpt import GPTConfig


def test_the_names_say_what_is_shared() -> None:
    assert set(SHARED) == set(EXPERIMENT.variants)
    for name, shared in SHARED.items():
        attention = PluggedAttention(GPTConfig(10, 8, 1, 2, 8), shared=shared)
        parts = {"Q": attention.query, "K": attention.key, "V": attention.value}
        same = {a for a in parts for b in parts if a != b and parts[a] is parts[b]}
        assert same == (set(name.split(" = ")) if "=" in name else set())


def test_one_projection_for_queries_and_keys_makes_scores_symmetric() -> None:
    attention, x = PluggedAttention(GPTConfig(10, 8, 1, 2, 8), shared="qk"), torch.randn(1, 5, 8)
    scores = ScaledDot()(split_heads(attention.query(x), 2), split_heads(attention.key(x), 2))
    assert torch.allclose(scores, scores.transpose(-2, -1), atol=1e-6)
