"""Synthesizer attention: the scores of a token come from the token alone, by a two-layer network, not from products.

What it gives up: a score cannot depend on the other token, only on its place. What it keeps: softmax and values.
"""

from __future__ import annotations

from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_core.kernels.heads import merge_heads, split_heads

Form = Literal["per_head", "per_head_bias", "shared"]


def synthesized_scores(
    hidden: Float[Tensor, "B H m d"], w2: Float[Tensor, "*H d L"], b2: Float[Tensor, "*H_b L"], n: int
) -> Float[Tensor, "B H m n"]:
    """The scores of m tokens for the first n places: ReLU(h) B + b_2, cut to n columns.

    Args: hidden, X A_i + b_1 by head; w2 (d, L) for all heads or (H, d, L); b2 (L,) or (H, L); n <= L.
    Raises: ValueError for more places than there are columns.
    """
    L = w2.shape[-1]
    if n > L:
        raise ValueError(f"the synthesizer has scores for {L} places, but {n} are asked for")
    # Cut before the product: the columns beyond n would be computed in vain, and must not enter the softmax.
    bias = b2[..., :n] if b2.ndim == 1 else b2[:, None, :n]
    return torch.relu(hidden) @ w2[..., :n] + bias


def synthesizer_attention(
    hidden: Float[Tensor, "B H m d"],
    value: Float[Tensor, "B H n d_v"],
    w2: Float[Tensor, "*H d L"],
    b2: Float[Tensor, "*H_b L"],
    dropout_p: float = 0.0,
) -> Float[Tensor, "B H m d_v"]:
    """y_i = sum_{j <= i} softmax_j(ReLU(h_i) B + b_2) v_j: causal, the last of m tokens stands at the last of n places.

    Args: hidden (B, H, m, d); value (B, H, n, d_v), n >= m; w2, b2 as `synthesized_scores`; dropout_p of weights.
    Returns: (B, H, m, d_v). Raises: ValueError for n > L or m > n.
    With w2 and b2 zero every row is the mean of the values so far.
    Source: CS224n, assignment 5, equation 5; Tay et al., "Synthesizer" (2020), section 3.1.1 (dense), there without
        b_1 and b_2.
    """
    m, n = hidden.shape[-2], value.shape[-2]
    if m > n:
        raise ValueError(f"{m} tokens cannot stand at {n} places")
    scores = synthesized_scores(hidden, w2, b2, n)
    later = torch.ones(m, n, dtype=torch.bool, device=hidden.device).triu(n - m + 1)
    weights = torch.softmax(scores.masked_fill(later, -torch.inf), dim=-1)
    weights = torch.dropout(weights, dropout_p, train=True) if dropout_p else weights
    return weights @ value


class ValueCache:
    """The values of the tokens so far: all that later tokens need of them."""

    def __init__(self) -> None:
        self.value: Tensor | None = None

    def __call__(self, value: Float[Tensor, "B H m d"]) -> Float[Tensor, "B H n d"]:
        """Append the values of new tokens; all of them."""
        self.value = value if self.value is None else torch.cat([self.value, value], dim=-2)
        return self.value


class SynthesizerSelfAttention(nn.Module):
    """Y = [Y_1; ...; Y_H] A, Y_i = softmax(ReLU(X A_i + b_1) B_i + b_2) (X V_i), causal.

    Forms, by what the heads share: "per_head" is the equation as written, B_i by head and one b_2; "per_head_bias"
    has a b_2 by head too; "shared" has one B for all heads, as in the assignment's skeleton. (The skeleton also has one
    column less than the block, `max_len` 127 for 128, and so cannot serve a whole block: such a call is refused.)

    Args: embed_dim E, num_heads H (E divisible by H), max_len L, the longest sequence, dropout of the weights.
    Raises: ValueError for other sizes, an unknown form, and, on a call, for more than L tokens.
    Example:
        >>> SynthesizerSelfAttention(12, 3, 20)(torch.zeros(2, 5, 12)).shape
        torch.Size([2, 5, 12])

    Source: CS224n, assignment 5, equations 4 and 5. B starts within 0.001 of 0, as in the skeleton: nearly uniform
        weights.
    """

    matrices = ("w2",)  # what an optimizer's weight decay applies to, beside the weights of linear layers

    def __init__(
        self, embed_dim: int, num_heads: int, max_len: int, form: Form = "per_head", dropout: float = 0.0
    ) -> None:
        super().__init__()
        if form not in get_args(Form):
            raise ValueError(f"form must be one of {', '.join(get_args(Form))}, got {form!r}")
        if num_heads < 1 or embed_dim % num_heads or max_len < 1:
            raise ValueError(
                f"{embed_dim} features, {num_heads} heads and {max_len} places: the heads must divide the features, "
                "and there must be at least one of each"
            )
        self.num_heads, self.max_len, self.dropout, self.form = num_heads, max_len, dropout, form
        d = embed_dim // num_heads
        self.w1 = nn.Linear(embed_dim, embed_dim)  # A_1 ... A_H side by side, and b_1
        heads = () if form == "shared" else (num_heads,)
        self.w2 = nn.Parameter(torch.empty(*heads, d, max_len).uniform_(-0.001, 0.001))
        self.b2 = nn.Parameter(torch.zeros((num_heads, max_len) if form == "per_head_bias" else (max_len,)))
        self.value = nn.Linear(embed_dim, embed_dim)
        self.proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x: Float[Tensor, "B m E"], cache: ValueCache | None = None) -> Float[Tensor, "B m E"]:
        """Attend from m new tokens to them and to what the cache holds; without a cache, to these tokens alone."""
        hidden, value = split_heads(self.w1(x), self.num_heads), split_heads(self.value(x), self.num_heads)
        if cache is not None:
            value = cache(value)
        dropout = self.dropout if self.training else 0.0
        out: Tensor = self.proj(merge_heads(synthesizer_attention(hidden, value, self.w2, self.b2, dropout)))
        return out
