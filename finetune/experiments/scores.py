"""Score functions: two vectors in, one number out, for every query with every key.

Each is a module whose call takes queries (B, H, n, d) and keys (B, H, m, d) and returns scores (B, H, n, m), before a
mask.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize

Queries = Float[Tensor, "B H n d"]
Keys = Float[Tensor, "B H m d"]
Scores = Float[Tensor, "B H n m"]


class ScaledDot(nn.Module):
    """s_ij = q_i . k_j / sqrt(d).

    Source: Vaswani et al., "Attention Is All You Need" (2017), equation 1.
    """

    def forward(self, query: Queries, key: Keys) -> Scores:
        """Return the scores."""
        return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])


class PlainDot(nn.Module):
    """s_ij = q_i . k_j, without the scale.

    Source: Luong et al., "Effective Approaches to Attention-based Neural Machine Translation" (2015), section 3.1.
    """

    def forward(self, query: Queries, key: Keys) -> Scores:
        """Return the scores."""
        return query @ key.transpose(-2, -1)


class Additive(nn.Module):
    """s_ij = w_h . tanh(q_i + k_j): n m d hyperbolic tangents a head, where a product needs n m d multiplications.

    Args:
        n_head, d: heads and their size; w starts like a linear layer of one output.
    Source: Bahdanau et al., "Neural Machine Translation by Jointly Learning to Align and Translate" (2015), A.1.2. Its
        two matrices are the projections of queries and keys here.
    """

    def __init__(self, n_head: int, d: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_head, d) / math.sqrt(d))

    def forward(self, query: Queries, key: Keys) -> Scores:
        """Return the scores."""
        hidden = torch.tanh(query[..., :, None, :] + key[..., None, :, :])  # (B, H, n, m, d)
        return (hidden @ self.weight[:, None, :, None]).squeeze(-1)


class Cosine(nn.Module):
    """s_ij = g_h q_i . k_j / (|q_i| |k_j|), with a learnt factor g_h > 0 that starts at sqrt(d).

    Args:
        n_head, d: heads and their size.
    Source: Henry et al., "Query-Key Normalization for Transformers" (2020), section 3.
    """

    def __init__(self, n_head: int, d: int) -> None:
        super().__init__()
        self.log_factor = nn.Parameter(torch.full((n_head,), math.log(d) / 2))

    def forward(self, query: Queries, key: Keys) -> Scores:
        """Return the scores."""
        cosine = normalize(query, dim=-1) @ normalize(key, dim=-1).transpose(-2, -1)
        return self.log_factor.exp()[:, None, None] * cosine


class SquaredDistance(nn.Module):
    """s_ij = -|q_i - k_j|^2 / sqrt(d), computed as (2 q_i . k_j - |q_i|^2 - |k_j|^2) / sqrt(d).

    Source: Kim et al., "The Lipschitz Constant of Self-Attention" (2021), equation 8, without its tied projections.
    """

    def forward(self, query: Queries, key: Keys) -> Scores:
        """Return the scores."""
        squares = query.square().sum(-1)[..., :, None] + key.square().sum(-1)[..., None, :]
        return (2 * query @ key.transpose(-2, -1) - squares) / math.sqrt(query.shape[-1])


class Bilinear(nn.Module):
    """s_ij = q_i^T W_h k_j / sqrt(d), W_h learnt and near the identity at the start.

    Args:
        n_head, d: heads and their size.
    Source: Luong et al. (2015), section 3.1, "general", with the scale of scaled dot products.
    """

    matrices = ("weight",)  # what weight decay applies to

    def __init__(self, n_head: int, d: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(d) + 0.1 * torch.randn(n_head, d, d) / math.sqrt(d))

    def forward(self, query: Queries, key: Keys) -> Scores:
        """Return the scores."""
        return query @ self.weight @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])


SCORES: Mapping[str, Callable[[int, int], nn.Module]] = {
    "scaled dot": lambda n_head, d: ScaledDot(),
    "plain dot": lambda n_head, d: PlainDot(),
    "additive": Additive,
    "cosine": Cosine,
    "squared distance": lambda n_head, d: SquaredDistance(),
    "bilinear": Bilinear,
}
"""Makers of score functions by name, given the heads and their size."""
