"""Correct multi-head self-attention: factories (embed_dim, num_heads) -> nn.Module.

`MultiHead` is cut into steps; a fault replaces one. `NAMINGS` are modules whose projections have other names and lie
otherwise.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn


class MultiHead(nn.Module):
    """Correct: softmax(q k^T / sqrt(d)) v for each head, joined and projected."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("the heads do not divide the features")
        self.heads, self.embed = num_heads, embed_dim
        self.build()

    def build(self) -> None:
        """The projections."""
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(self.embed, self.embed) for _ in range(4))

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values (B, n, E)."""
        return self.q_proj(x), self.k_proj(x), self.v_proj(x)

    def split(self, x: Tensor) -> Tensor:
        """(B, n, E) to (B, H, n, d)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def scale(self) -> float:
        """1 / sqrt(d)."""
        return 1 / math.sqrt(self.embed / self.heads)

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        """Mask and causality together."""
        allow = torch.ones(n, n, dtype=torch.bool)
        allow = allow.tril() if is_causal else allow
        return allow if attn_mask is None else allow & attn_mask

    def weights(self, s: Tensor, allow: Tensor) -> Tensor:
        """Softmax over what is allowed."""
        return s.masked_fill(~allow, -math.inf).softmax(-1)

    def merge(self, x: Tensor) -> Tensor:
        """(B, H, n, d) to (B, n, E)."""
        return x.transpose(1, 2).flatten(2)

    def finish(self, x: Tensor) -> Tensor:
        """The output projection."""
        y: Tensor = self.out_proj(x)
        return y

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False, need_weights: bool = False
    ) -> Any:
        q, k, v = (self.split(part) for part in self.project(x))
        allow = self.allowed(x.shape[1], attn_mask, is_causal, need_weights)
        p = self.weights(self.scale() * q @ k.transpose(-1, -2), allow)
        y = self.finish(self.merge(p @ v))
        return (y, p) if need_weights else y


class two_masks(MultiHead):  # noqa: N801
    """Correct: a mask of keys (B, n) beside the mask of pairs; True attends."""

    def forward(  # type: ignore[override]
        self, x: Tensor, key_padding_mask: Tensor | None = None, attn_mask: Tensor | None = None,
        need_weights: bool = False,
    ) -> Any:  # fmt: skip
        return super().forward(x, self.together(key_padding_mask, attn_mask), need_weights=need_weights)

    def together(self, keys: Tensor | None, pairs: Tensor | None) -> Tensor | None:
        """One mask of what both allow."""
        wide = None if keys is None else keys[:, None, None, :]
        return pairs if wide is None else wide if pairs is None else wide & pairs


class with_dropout(MultiHead):  # noqa: N801
    """Correct: drops weights while it trains, unless told otherwise."""

    def weights(self, s: Tensor, allow: Tensor) -> Tensor:
        return nn.functional.dropout(super().weights(s, allow), 0.5, self.training)


class named_by_letters(MultiHead):  # noqa: N801
    """Bare parameters W_q, ..., used as x W."""

    W_q: Tensor
    W_k: Tensor
    W_v: Tensor
    W_o: Tensor

    def build(self) -> None:
        for letter in "qkvo":
            setattr(self, f"W_{letter}", nn.Parameter(torch.zeros(self.embed, self.embed)))

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return x @ self.W_q, x @ self.W_k, x @ self.W_v

    def finish(self, x: Tensor) -> Tensor:
        return x @ self.W_o


class named_by_words(MultiHead):  # noqa: N801
    """toQueries, toKeys, toValues, unifyHeads."""

    def build(self) -> None:
        self.toQueries, self.toKeys, self.toValues = (nn.Linear(self.embed, self.embed, bias=False) for _ in range(3))
        self.unifyHeads = nn.Linear(self.embed, self.embed)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.toQueries(x), self.toKeys(x), self.toValues(x)

    def finish(self, x: Tensor) -> Tensor:
        y: Tensor = self.unifyHeads(x)
        return y


class listed(MultiHead):  # noqa: N801
    """Four linears in a list, keys first."""

    def build(self) -> None:
        self.linears = nn.ModuleList(nn.Linear(self.embed, self.embed) for _ in range(4))

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.linears[1](x), self.linears[0](x), self.linears[2](x)

    def finish(self, x: Tensor) -> Tensor:
        y: Tensor = self.linears[3](x)
        return y


class fused_by_heads(MultiHead):  # noqa: N801
    """One projection whose rows are (head, part, feature), and no output projection."""

    def build(self) -> None:
        self.query_key_value = nn.Linear(self.embed, 3 * self.embed)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = self.query_key_value(x).unflatten(-1, (self.heads, 3, -1))
        return y[..., 0, :].flatten(-2), y[..., 1, :].flatten(-2), y[..., 2, :].flatten(-2)

    def finish(self, x: Tensor) -> Tensor:
        return x


class fused_by_features(MultiHead):  # noqa: N801
    """One projection whose rows are (head, feature, part), keys first."""

    def build(self) -> None:
        self.to_all = nn.Linear(self.embed, 3 * self.embed, bias=False)
        self.proj = nn.Linear(self.embed, self.embed)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        k, q, v = self.to_all(x).unflatten(-1, (self.embed, 3)).unbind(-1)
        return q, k, v

    def finish(self, x: Tensor) -> Tensor:
        y: Tensor = self.proj(x)
        return y


class fused_transposed(MultiHead):  # noqa: N801
    """c_attn (E, 3E) and c_proj (E, E) act as x W, as in GPT-2."""

    c_attn: Any
    c_proj: Any

    def build(self) -> None:
        self.c_attn, self.c_proj = nn.Module(), nn.Module()
        self.c_attn.weight = nn.Parameter(torch.zeros(self.embed, 3 * self.embed))
        self.c_attn.bias = nn.Parameter(torch.zeros(3 * self.embed))
        self.c_proj.weight = nn.Parameter(torch.zeros(self.embed, self.embed))

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = (x @ self.c_attn.weight + self.c_attn.bias).chunk(3, dim=-1)
        return q, k, v

    def finish(self, x: Tensor) -> Tensor:
        y: Tensor = x @ self.c_proj.weight
        return y


class normalised(MultiHead):  # noqa: N801
    """A layer norm in front: correct, but its projections alone do not explain it."""

    def build(self) -> None:
        super().build()
        self.norm = nn.LayerNorm(self.embed)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return super().project(self.norm(x))


class Crossing(MultiHead):
    """Correct: queries of x, keys and values of a context where there is one."""

    def parts(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values."""
        return self.q_proj(x), self.k_proj(context), self.v_proj(context)

    def forward(self, x: Tensor, context: Tensor | None = None, mask: Tensor | None = None) -> Any:  # type: ignore[override]
        q, k, v = (self.split(part) for part in self.parts(x, x if context is None else context))
        s = self.scale() * q @ k.transpose(-1, -2)
        s = s if mask is None else s.masked_fill(~mask, -math.inf)
        return self.finish(self.merge(s.softmax(-1) @ v))


class Apart(MultiHead):
    """Correct: takes query, key and value."""

    def read(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Projected keys and values."""
        return self.k_proj(key), self.v_proj(value)

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Any:  # type: ignore[override]
        q, k, v = (self.split(part) for part in (self.q_proj(query), *self.read(key, value)))
        return self.finish(self.merge((self.scale() * q @ k.transpose(-1, -2)).softmax(-1) @ v))


NAMINGS = (
    MultiHead, named_by_letters, named_by_words, listed, fused_by_heads, fused_by_features, fused_transposed,
)  # fmt: skip
