"""The attention of a block with parts to replace: projections, what is shared, positions, and how values are mixed.

With nothing replaced it computes what `finetune.models.gpt.DotProductAttention` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_core.kernels.heads import merge_heads, split_heads
from attention_core.modules.positions import rotary
from finetune.errors import BadInput
from finetune.experiments.scores import ScaledDot
from finetune.models.gpt import GPTConfig

Mix = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(query, key, value), each (B, H, n, d), to (B, H, n, d): causal, or not if the model is an encoder."""
Project = Callable[[int], nn.Module]


def causal_softmax(scores: Float[Tensor, "*batch n m"]) -> Float[Tensor, "*batch n m"]:
    """Return w_ij = exp(s_ij) / sum over k <= i of exp(s_ik) for j <= i, and 0 for later j."""
    later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    return torch.softmax(scores.masked_fill(later, -torch.inf), dim=-1)


class ScoredMix(nn.Module):
    """o_i = sum_j w_ij v_j, where w = weigh(score(q, k)).

    Args:
        score: (query, key) to scores (B, H, n, n).
        weigh: scores to weights; the causal softmax unless another one is given.
    """

    def __init__(self, score: nn.Module, weigh: Callable[[Tensor], Tensor] = causal_softmax) -> None:
        super().__init__()
        self.score, self.weigh = score, weigh

    def forward(
        self, query: Float[Tensor, "B H n d"], key: Float[Tensor, "B H n d"], value: Float[Tensor, "B H n d"]
    ) -> Float[Tensor, "B H n d"]:
        """Mix the values by the weights of each query."""
        mixed: Tensor = self.weigh(self.score(query, key)) @ value
        return mixed


class PluggedAttention(nn.Module):
    """Self-attention of a block: project, split heads, mix, merge heads, project.

    Args:
        config: sizes.
        mix: how values are mixed; scaled dot products with a causal softmax unless given.
        shared: which projections are one: "" (none), "qk", "kv", "qv" or "qkv".
        project: a role ("query", "key" or "value") to a maker of its projection; a linear layer unless given.
        rotated: turn queries and keys by their positions.
    """

    def __init__(
        self, config: GPTConfig, mix: nn.Module | None = None, *, shared: str = "",
        project: dict[str, Project] | None = None, rotated: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        E = config.n_embd
        make = {role: (project or {}).get(role, _linear) for role in ("query", "key", "value")}
        self.query = make["query"](E)
        self.key = self.query if shared in ("qk", "qkv") else make["key"](E)
        first = {"qkv": self.query, "kv": self.key, "qv": self.query}
        self.value = first[shared] if shared in first else make["value"](E)
        self.proj = nn.Linear(E, E)
        self.mix = ScoredMix(ScaledDot()) if mix is None else mix
        self.n_head, self.rotated = config.n_head, rotated

    def new_cache(self) -> None:
        """Raise: a variant is trained and judged on whole stretches. Raises: BadInput."""
        raise BadInput("this attention keeps no cache; write with cached=False")

    def forward(self, x: Float[Tensor, "B n E"], start: int, cache: Any) -> Float[Tensor, "B n E"]:
        """Attend within each stretch."""
        q, k, v = (split_heads(part(x), self.n_head) for part in (self.query, self.key, self.value))
        if self.rotated:
            positions = torch.arange(start, start + x.shape[1], device=x.device)
            q, k = rotary(q, positions), rotary(k, positions)
        out: Tensor = self.proj(merge_heads(self.mix(q, k, v)))
        return out


def _linear(E: int) -> nn.Module:
    return nn.Linear(E, E)
