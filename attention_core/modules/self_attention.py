"""Multi-head self-attention, step by step: project, split, compare, scale, mask, normalise, mix, merge.

The steps are functions of one line each, without loops; the module at the end uses the same heads.

Multi-head self-attention with one projection (E -> 3E) in place of three: one product, the same function.

The rows of its weight are those of query, key and value, in this order.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.heads import merge_heads, split_heads

__all__ = [
    "MultiHeadSelfAttention", "apply_causal_mask", "attn_scaled", "attn_softmax", "compute_outputs",
    "init_qkv_proj", "make_causal_mask", "merge_heads", "pairwise_similarities", "self_attention",
    "split_heads", "split_heads_qkv",
]  # fmt: skip


def init_qkv_proj(n_embd: int) -> tuple[nn.Linear, nn.Linear, nn.Linear]:
    """The projections W_Q, W_K, W_V of the tokens: three nn.Linear(n_embd, n_embd) with biases.

    Example:
        >>> [W.weight.shape for W in init_qkv_proj(12)]
        [torch.Size([12, 12]), torch.Size([12, 12]), torch.Size([12, 12])]
    """
    return nn.Linear(n_embd, n_embd), nn.Linear(n_embd, n_embd), nn.Linear(n_embd, n_embd)


def pairwise_similarities(
    Q: Float[Tensor, "*#batch n_q d"], K: Float[Tensor, "*#batch n_kv d"]
) -> Float[Tensor, "*batch n_q n_kv"]:
    """A = Q K^T: every query with every key.

    Example:
        >>> pairwise_similarities(torch.eye(2), torch.tensor([[1.0, 2.0]])).tolist()
        [[1.0], [2.0]]
    """
    return Q @ K.transpose(-2, -1)


def attn_scaled(A: Float[Tensor, "..."], n_embd: int, n_heads: int) -> Float[Tensor, "..."]:
    """A / sqrt(n_embd / n_heads): the head size, not the embedding, sets the scale."""
    return A / math.sqrt(n_embd / n_heads)


def attn_softmax(A: Float[Tensor, "*batch n_q n_kv"]) -> Float[Tensor, "*batch n_q n_kv"]:
    """A' = softmax over the keys (the last axis): each query's weights sum to 1."""
    return torch.softmax(A, dim=-1)


def compute_outputs(
    A: Float[Tensor, "*batch n_q n_kv"], V: Float[Tensor, "*#batch n_kv d"]
) -> Float[Tensor, "*#batch n_q d"]:
    """O = A' V: each output is a weighted sum of values."""
    return A @ V


def make_causal_mask(n_tok: int, device: torch.device | None = None) -> Bool[Tensor, "n_tok n_tok"]:
    """True where token i may attend token j: j <= i, a lower triangle with its diagonal."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool, device=device).tril()


def apply_causal_mask(
    mask: Bool[Tensor, "n_q n_kv"], A: Float[Tensor, "*batch n_q n_kv"]
) -> Float[Tensor, "*batch n_q n_kv"]:
    """A where the mask allows, -inf elsewhere: exp(-inf) = 0, so later tokens leave the sum as well.

    Zeros after the softmax would not do: see `kernels.naive_causal`.
    """
    return torch.where(mask, A, -torch.inf)


def split_heads_qkv(
    Q: Float[Tensor, "B n E"], K: Float[Tensor, "B n E"], V: Float[Tensor, "B n E"], n_heads: int
) -> tuple[Float[Tensor, "B H n d"], Float[Tensor, "B H n d"], Float[Tensor, "B H n d"]]:
    """`split_heads` of all three."""
    return split_heads(Q, n_heads), split_heads(K, n_heads), split_heads(V, n_heads)


def self_attention(
    Q: Float[Tensor, "B n E"],
    K: Float[Tensor, "B n E"],
    V: Float[Tensor, "B n E"],
    n_heads: int = 1,
    causal: bool = True,
    dropout: nn.Module | None = None,
    output_projection: nn.Module | None = None,
) -> Float[Tensor, "B n E"]:
    """Multi-head self-attention of projected tokens: Concat_h(softmax(Q_h K_h^T / sqrt(E/H)) V_h).

    Args: Q, K, V (B, n, E), the tokens after W_Q, W_K, W_V; n_heads, H; causal: token i sees j <= i;
        dropout, applied to the weights; output_projection, applied at the end. None leaves a step out.
    Returns: (B, n, E). Raises: ValueError where Q, K, V differ in shape or E is not divisible by H.
    Example:
        >>> W_Q, W_K, W_V = init_qkv_proj(12)
        >>> x = torch.zeros(2, 5, 12)
        >>> self_attention(W_Q(x), W_K(x), W_V(x), n_heads=4).shape
        torch.Size([2, 5, 12])

    Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.2.
    """
    if not Q.shape == K.shape == V.shape:
        raise ValueError(f"shapes differ: Q {tuple(Q.shape)}, K {tuple(K.shape)}, V {tuple(V.shape)}")
    n_tok, n_embd = Q.shape[-2:]
    Q, K, V = split_heads_qkv(Q, K, V, n_heads)  # (B, H, n, d)
    A = attn_scaled(pairwise_similarities(Q, K), n_embd, n_heads)  # (B, H, n, n)
    if causal:
        A = apply_causal_mask(make_causal_mask(n_tok, A.device), A)
    A = attn_softmax(A)
    if dropout is not None:
        A = dropout(A)
    y = merge_heads(compute_outputs(A, V))  # (B, n, E)
    return y if output_projection is None else output_projection(y)


class MultiHeadSelfAttention(nn.Module):
    """Multi-head self-attention as a layer: y = W_O Concat_h(attention(Q_h, K_h, V_h)), [Q K V] = W x + b.

    Args: embed_dim E and num_heads H, E divisible by H; shared_projection: one Linear (E -> 3E), rows in the
        order query, key, value, in place of three; output_projection: W_O, or none; dropout on the weights,
        in training only; bias in every Linear.
    Raises: ValueError where E is not divisible by H or dropout is not a probability.
    Example:
        >>> MultiHeadSelfAttention(12, 3)(torch.zeros(2, 5, 12), is_causal=True).shape
        torch.Size([2, 5, 12])

    Source: Vaswani et al. (2017), section 3.2.2.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        shared_projection: bool = False,
        output_projection: bool = True,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads:
            raise ValueError(f"{embed_dim} features cannot be cut into {num_heads} heads of equal size")
        if not 0.0 <= dropout <= 1.0:
            raise ValueError(f"dropout must be a probability between 0 and 1, got {dropout}")
        self.num_heads = num_heads
        self.dropout = dropout
        widths = [3 * embed_dim] if shared_projection else [embed_dim] * 3
        self.projections = nn.ModuleList(nn.Linear(embed_dim, width, bias=bias) for width in widths)
        self.output = nn.Linear(embed_dim, embed_dim, bias=bias) if output_projection else nn.Identity()

    def forward(
        self,
        x: Float[Tensor, "B n E"],
        attn_mask: Tensor | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend within each sequence of x (B, n, E).

        Args: attn_mask (n, n), or four axes that broadcast to (B, H, n, n), with the meaning of
            `dot_product_attention`; three axes are refused, since (B, n, n) would be read as (H, n, n);
            need_weights: also return the weights, before dropout.
        Returns: (B, n, E), and with need_weights the weights (B, H, n, n).
        Raises: ValueError for such a mask, or one that does not broadcast.
        """
        if attn_mask is not None and attn_mask.ndim not in (2, 4):
            shape = tuple(attn_mask.shape)
            raise ValueError(f"the mask needs the axes (n, n) or (B, H, n, n), got shape {shape}")
        projected = torch.cat([projection(x) for projection in self.projections], dim=-1)
        q, k, v = (split_heads(part, self.num_heads) for part in projected.chunk(3, dim=-1))
        dropout_p = self.dropout if self.training else 0.0
        y, weights = dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal, return_weights=True)
        y = self.output(merge_heads(y))
        return (y, weights) if need_weights else y


def shared_projection_attention(embed_dim: int, num_heads: int) -> MultiHeadSelfAttention:
    """A layer y = W_O Concat_h(attention(Q_h, K_h, V_h)), [Q K V] = W x + b, with a single W (3E, E).

    Args: embed_dim E and num_heads H, E divisible by H. Returns: the layer, to be called with x (B, n, E).
    Raises: ValueError where E is not divisible by H.
    Example:
        >>> shared_projection_attention(12, 3)(torch.zeros(2, 5, 12)).shape
        torch.Size([2, 5, 12])

    Source: Vaswani et al. (2017), section 3.2.2, the three products written as one.
    """
    return MultiHeadSelfAttention(embed_dim, num_heads, shared_projection=True)
