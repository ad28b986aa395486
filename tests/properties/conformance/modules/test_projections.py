"""Projections that lie in lists, one for each head, are found and judged.

attention_core.conformance.modules.projections: parameters of several heads become one of all of them.
"""

from __future__ import annotations

from typing import Any

import torch
from judging import held, refuted
from torch import Tensor, nn


class HeadsInLists(nn.Module):
    """A linear layer for each head's query, key and value, in lists; `keys` says whose keys each head takes."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        sizes = embed_dim, embed_dim // num_heads
        self.q, self.k, self.v = (nn.ModuleList(nn.Linear(*sizes) for _ in range(num_heads)) for _ in "qkv")
        self.out = nn.Linear(embed_dim, embed_dim)

    def keys(self) -> list[nn.Module]:
        return list(self.k)

    def forward(self, x: Tensor) -> Tensor:
        heads = [(q(x), k(x), v(x)) for q, k, v in zip(self.q, self.keys(), self.v, strict=True)]
        outs = [(q @ k.mT * q.shape[-1] ** -0.5).softmax(-1) @ v for q, k, v in heads]
        result: Tensor = self.out(torch.cat(outs, -1))
        return result


class LastHeadTakesTheFirstsKeys(HeadsInLists):
    def keys(self) -> list[nn.Module]:
        return [*list(self.k)[:-1], self.k[0]]


def test_heads_in_lists_are_judged_with_several_heads() -> None:
    """Only cases of one head were judged, where nothing is to be confused, and the faulty one conformed."""
    law = "heads_attend_as_the_formula_says"
    record: dict[str, Any] = {"contract": "multi-head", "dtypes": ("float32",)}
    held(law, HeadsInLists, **record)
    held("gradients_of_parameters_are_true", HeadsInLists, **record)
    refuted(law, LastHeadTakesTheFirstsKeys, "quick", **record)
