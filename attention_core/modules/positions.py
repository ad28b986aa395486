"""Positions: learned and sinusoidal tables, rotary embedding of queries and keys, ALiBi biases.

Angles and tables are computed in float64 and rounded once: position 100 000 times a frequency has no correct
digit left in bfloat16 and few in float32.
"""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Float, Real
from torch import Tensor, nn


class LearnedPositions(nn.Module):
    """A trained table of one vector per position: f(n) = T[start : start + n].

    Args: n_max, number of positions; d, features. Raises: ValueError for n_max < 0 or d < 0.
    Example:
        >>> LearnedPositions(100, 12)(5).shape
        torch.Size([5, 12])

    Source: Gehring et al., "Convolutional Sequence to Sequence Learning" (2017), section 3.1.
    """

    def __init__(self, n_max: int, d: int) -> None:
        super().__init__()
        if n_max < 0 or d < 0:
            raise ValueError(f"n_max and d must not be negative, got {n_max} and {d}")
        # The usual spread of transformer embeddings: the sum with a token vector starts near the token.
        self.table = nn.Parameter(torch.randn(n_max, d) * 0.02)

    def forward(self, n: int, start: int = 0) -> Float[Tensor, "n d"]:
        """The vectors of positions start ... start + n - 1, to be added to the tokens.

        Raises: ValueError where a position is negative or beyond the table, which has learned nothing there.
        """
        n_max = self.table.shape[0]
        if n < 0 or start < 0 or start + n > n_max:
            raise ValueError(f"positions {start} ... {start + n - 1} are outside the table of {n_max}")
        return self.table[start : start + n]


def sinusoidal(n: int, d: int, base: float = 10000.0, dtype: torch.dtype = torch.float32) -> Float[Tensor, "n d"]:
    """The fixed table PE[t, 2c] = sin(t base^(-2c/d)), PE[t, 2c + 1] = cos(t base^(-2c/d)).

    For even d the inner product of two rows depends on the difference of their positions alone. An odd d
    ends with a sine without its cosine, and the property holds for the columns before it.

    Args: n, d, sizes; dtype of the result, rounded once from float64. Returns: (n, d).
    Raises: ValueError for negative sizes or base <= 0.
    Example:
        >>> sinusoidal(1, 4)
        tensor([[0., 1., 0., 1.]])

    Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.5.
    """
    if n < 0 or d < 0 or not base > 0:
        raise ValueError(f"n and d must not be negative and base must be positive, got {n}, {d}, {base}")
    column = torch.arange(d)
    frequency = base ** (-2.0 * (column // 2).double() / max(d, 1))
    angle = torch.arange(n).double()[:, None] * frequency
    return torch.where(column % 2 == 0, angle.sin(), angle.cos()).to(dtype)


def rotary(
    x: Float[Tensor, "*#batch n d"],
    positions: Real[Tensor, "*#batch n"],
    base: float = 10000.0,
    pairing: Literal["half", "interleaved"] = "half",
) -> Float[Tensor, "*#batch n d"]:
    """Rotate each pair of features by an angle proportional to the position of its token.

    (y_a, y_b) = (x_a cos t - x_b sin t, x_a sin t + x_b cos t), t = position base^(-2c/d), where pair c is
    (a, b) = (c, c + d/2) for "half" and (2c, 2c + 1) for "interleaved". Rotated q . k depends on the
    difference of positions alone. The two pairings differ by a permutation of features: weights trained
    with one do not fit the other.

    Args: x (*batch, H, n, d), d even; positions (n,), any numbers, or broadcastable to (*batch, H, n).
    Returns: like x, in its dtype; angles in float64, the rotation in at least float32.
    Raises: ValueError for odd d, an unknown pairing, or positions that do not fit x.
    Example:
        >>> x = torch.ones(1, 3, 2)
        >>> torch.equal(rotary(x, torch.zeros(3)), x)
        True

    Source: Su et al., "RoFormer" (2021), eq. 34.
    """
    d = x.shape[-1]
    if d % 2:
        raise ValueError(f"rotary positions pair features, so the head size must be even, got {d}")
    if positions.ndim == 0 or positions.shape[-1] != x.shape[-2]:
        raise ValueError(f"positions {tuple(positions.shape)} do not fit {x.shape[-2]} tokens")
    frequency = base ** (-2.0 * torch.arange(d // 2, device=x.device).double() / max(d, 1))
    angle = positions.to(x.device).double()[..., None] * frequency  # (..., n, d/2)
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    cos, sin = angle.cos().to(wide.dtype), angle.sin().to(wide.dtype)
    if pairing == "half":
        a, b = wide.chunk(2, dim=-1)
        y = torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
    elif pairing == "interleaved":
        a, b = wide[..., 0::2], wide[..., 1::2]
        y = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    else:
        raise ValueError(f"pairing must be 'half' or 'interleaved', got {pairing!r}")
    return y.to(x.dtype)


def alibi_slopes(H: int) -> Float[Tensor, " H"]:
    """Slopes of the linear biases: m_h = 2^(-8h/H), h = 1 ... H, where H is a power of two.

    Otherwise, with P the largest power of two below H: the slopes of P heads, then every second slope of 2P
    heads (the first, third, ...), as many as are missing.

    Args: H >= 1. Returns: (H,) float32. Raises: ValueError for H < 1.
    Example:
        >>> alibi_slopes(4).tolist()
        [0.25, 0.0625, 0.015625, 0.00390625]

    Source: Press et al., "Train Short, Test Long" (2022), section 3 and the authors' code for other H.
    """
    if H < 1:
        raise ValueError(f"ALiBi needs at least one head, got {H}")
    P = 1 << (H.bit_length() - 1)
    exponents = [8 * h / P for h in range(1, P + 1)]
    exponents += [8 * h / (2 * P) for h in range(1, 2 * P + 1, 2)][: H - P]
    return torch.exp2(-torch.tensor(exponents, dtype=torch.float64)).float()


def alibi_bias(H: int, n_q: int, n_kv: int) -> Float[Tensor, "H n_q n_kv"]:
    """A penalty that grows with distance, added to scaled scores: b_hij = -m_h |i + n_kv - n_q - j|.

    The last query stands at the last key (bottom-right), so one query against a cache gets the last row of
    the square bias. The absolute value makes it serve encoders too; under a causal mask it changes nothing.

    Args: H >= 1; n_q, n_kv >= 0. Returns: (H, n_q, n_kv) float32. Raises: ValueError for other sizes.
    Example:
        >>> alibi_bias(8, 1, 3)[0]
        tensor([[-1.0000, -0.5000, -0.0000]])

    Source: Press et al. (2022), section 3.
    """
    if n_q < 0 or n_kv < 0:
        raise ValueError(f"lengths must not be negative, got n_q = {n_q}, n_kv = {n_kv}")
    i, j = torch.arange(n_kv - n_q, n_kv)[:, None], torch.arange(n_kv)
    return -alibi_slopes(H)[:, None, None] * (i - j).abs()
