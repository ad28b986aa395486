"""Position encodings by their formulas, in float64: rotary, sinusoidal, and the slopes of ALiBi.

Channel pairs c = 0, 1, ... turn at the frequency base^(-2c/d); positions may be any integers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from attention_core.oracle.truth import Array


def rotary(x: npt.ArrayLike, positions: npt.ArrayLike, base: float = 10000.0, pairing: str = "interleaved") -> Array:
    """Rotate each channel pair by an angle proportional to the position.

    (y_a, y_b) = (x_a cos t - x_b sin t, x_a sin t + x_b cos t), t = position base^(-2c/d), where pair c
    is (a, b) = (2c, 2c + 1) for "interleaved" and (c, c + d/2) for "half".

    Args: x (*batch, H, n, d), d even; positions (n,), or broadcastable to (*batch, H, n).
    Returns: like x, float64. Raises: ValueError for odd d or an unknown pairing.
    Example:
        >>> rotary(np.ones((1, 2)), [0]).tolist()
        [[1.0, 1.0]]

    Source: Su et al., "RoFormer" (2021), eq. 34; the pairing "half" is a permutation of channels.
    """
    x = np.asarray(x, dtype=np.float64)
    d = x.shape[-1]
    if d % 2:
        raise ValueError(f"rotary needs an even head size, got {d}")
    frequency = base ** (-2.0 * np.arange(d // 2) / max(d, 1))
    angle = np.asarray(positions, dtype=np.float64)[..., None] * frequency
    cos, sin = np.cos(angle), np.sin(angle)
    if pairing == "interleaved":
        a, b = slice(0, None, 2), slice(1, None, 2)
    elif pairing == "half":
        a, b = slice(0, d // 2), slice(d // 2, None)
    else:
        raise ValueError(f"pairing must be 'interleaved' or 'half', got {pairing!r}")
    out = np.empty_like(x)
    out[..., a] = x[..., a] * cos - x[..., b] * sin
    out[..., b] = x[..., a] * sin + x[..., b] * cos
    return out


def sinusoidal(n: int, d: int, base: float = 10000.0) -> Array:
    """The table of Vaswani et al.: PE[t, 2c] = sin(t base^(-2c/d)), PE[t, 2c+1] = cos(t base^(-2c/d)).

    Returns: (n, d) float64; an odd d ends with a sine.
    Example:
        >>> sinusoidal(1, 4).tolist()
        [[0.0, 1.0, 0.0, 1.0]]

    Source: "Attention Is All You Need" (2017), section 3.5.
    """
    channel = np.arange(d)
    angle = np.arange(n)[:, None] * base ** (-2.0 * (channel // 2) / max(d, 1))
    return np.where(channel % 2 == 0, np.sin(angle), np.cos(angle))


def alibi_slopes(H: int) -> Array:
    """Slopes m_h of the penalty -m_h (i - j): m_h = 2^(-8h/H), h = 1..H, where H is a power of two.

    Otherwise, with P the power of two below H: the P slopes of P heads, then every second slope of 2P
    heads, as the paper's authors do. Returns: (H,) float64.
    Example:
        >>> alibi_slopes(8)[:3].tolist()
        [0.5, 0.25, 0.125]

    Source: Press et al., "Train Short, Test Long" (2022), section 3.
    """
    if H <= 0:
        return np.zeros(0)
    P = 2 ** (H.bit_length() - 1)
    slopes = 2.0 ** (-8.0 * np.arange(1, P + 1) / P)
    extra = 2.0 ** (-8.0 * np.arange(1, 2 * P + 1, 2) / (2 * P))
    return np.concatenate([slopes, extra[: H - P]])
