"""Multi-head self-attention with one projection (E -> 3E) in place of three: one product, the same function.

The rows of its weight are those of query, key and value, in this order.
"""

from __future__ import annotations

from attention_core.modules.self_attention import MultiHeadSelfAttention


def shared_projection_attention(embed_dim: int, num_heads: int) -> MultiHeadSelfAttention:
    """A layer y = W_O Concat_h(attention(Q_h, K_h, V_h)), [Q K V] = W x + b, with a single W (3E, E).

    Args: embed_dim E and num_heads H, E divisible by H. Returns: the layer, to be called with x (B, n, E).
    Raises: ValueError where E is not divisible by H.
    Example: shared_projection_attention(12, 3)(torch.zeros(2, 5, 12)).shape == (2, 5, 12).
    Source: Vaswani et al. (2017), section 3.2.2, the three products written as one.
    """
    return MultiHeadSelfAttention(embed_dim, num_heads, shared_projection=True)
