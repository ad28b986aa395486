"""How far right linear attention may be from the float64 truth: token by token, in blocks, or with its state carried.

A state is a sum of terms, each a key times a new value times decays. Tags in comments name steps of
derivations/linear_attention.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attention_core.conformance.budgets.error_rows import Format, float_format, gamma
from attention_core.conformance.budgets.rounding import Array

NO_DIGIT = 1e30
"""An error in place of infinity, where so many roundings leave no digit: times a size of 0 it is 0."""


class Tokens(NamedTuple):
    """What linear attention reads: query, key (B, H, n, d), value (B, H, n, d_v), log decay (B, H, n, d) or None.

    `beta` (B, H, n) is that of the delta rule, None without.
    """

    query: Array
    key: Array
    value: Array
    log_decay: Array | None = None
    beta: Array | None = None


@dataclass(frozen=True)
class RecurrenceBounds:
    """|result - truth| <= bound: outputs (B, H, n, d_v) and the last state (B, H, d, d_v)."""

    out: Array
    state: Array


def recurrence_bound(
    tokens: Tokens, start: Array | None, out: Array, *, scale: float, dtype: str, accumulate: str, parts: int = 1
) -> RecurrenceBounds:
    """Largest distance of right linear attention from the truth.

    Args:
        tokens: as the target reads them. start: the state that it begins with, or None.
        out: the true outputs. scale: of the outputs. dtype: of the inputs and the output.
        accumulate: "float32" if what lies between stays in float32, else "input".
        parts: in how many calls the tokens are handed over, with the state between them.
    Returns: RecurrenceBounds. Raises: ValueError for an unknown accumulate.
    Source: derivations/linear_attention.md (term-error, exponent-off, delta-residual).
    """
    f = float_format(dtype, accumulate)
    k, v = np.abs(tokens.key), tokens.value
    (*batch, n, d), d_v = k.shape, v.shape[-1]
    g = np.zeros(k.shape) if tokens.log_decay is None else np.broadcast_to(tokens.log_decay, k.shape)
    first = np.zeros((*batch, d, d_v)) if start is None else np.abs(start)
    relative = _relative_error(f, g, parts)  # (..., n)
    new, new_off = np.abs(v), np.zeros(v.shape)
    if tokens.beta is not None:
        new, new_off = _new_values(tokens, g, start, relative)
    size, off = first, np.zeros(first.shape)
    bound = np.zeros(out.shape)
    floor = f.flush_between * (1 + k.max(initial=0.0)) * (1 + new.max(initial=0.0)) * (1 + first.max(initial=0.0))
    for t in range(n):
        fade, weight = np.exp(g[..., t, :, None]), k[..., t, :, None]
        eta = relative[..., t, None, None]
        size = fade * size + weight * new[..., t, None, :]
        off = fade * off + weight * (1 + eta) * new_off[..., t, None, :]
        read = np.abs(tokens.query[..., t, :, None])
        sums = (read * ((eta + gamma(d + 4, f.a) + gamma(3, f.w)) * size + off)).sum(axis=-2)  # (term-error)
        bound[..., t, :] = abs(scale) * (sums + (n + d + 4) * floor * read.sum(axis=-2))
    last = relative[..., -1, None, None] if n else 0.0
    bound = (1 + f.u) * bound + f.u * np.abs(out) + 4 * f.flush
    return RecurrenceBounds(bound, last * size + off + (n + 4) * floor)


def _relative_error(f: Format, g: Array, parts: int) -> Array:
    """By how much a term of the state behind token t may be off, relative to its size (..., n)."""
    n, d = g.shape[-2:]
    count = np.arange(1, n + 1) + 4 * (parts - 1)
    roundings = np.array([gamma(int(6 * t + d + 12), f.a) + gamma(int(2 * t + 6), f.w) for t in count])  # (term-error)
    exponent = (2 * count + 4) * f.a * np.abs(g).cumsum(axis=-2).max(axis=-1)  # (exponent-off)
    return np.asarray(np.minimum((1 + roundings) * np.exp(np.minimum(exponent, 600.0)) - 1, NO_DIGIT))


def _new_values(tokens: Tokens, g: Array, start: Array | None, relative: Array) -> tuple[Array, Array]:
    """The values u that the delta rule adds, in size, and by how much they may be off (delta-residual).

    u solves (I + A) u = r, with A_ij = beta_i <k_i, k_j> e^(G_i - G_j) for j < i and r = beta (v - what the first state
    holds). What a token's step leaves of this system is bounded by the sizes of its terms.
    """
    k, beta = tokens.key, np.asarray(tokens.beta)[..., None]
    total = g[..., :1].cumsum(axis=-2)
    n = k.shape[-2]
    with np.errstate(over="ignore"):
        between = np.where(np.tri(n, k=-1, dtype=bool), np.exp(np.minimum(total - total.swapaxes(-1, -2), 0.0)), 0.0)
    system = beta * between * (k @ k.swapaxes(-1, -2))
    sizes = beta * between * (np.abs(k) @ np.abs(k).swapaxes(-1, -2))
    right, right_size = beta * tokens.value, beta * np.abs(tokens.value)
    if start is not None:
        right = right - beta * np.exp(total) * (k @ start)
        right_size = right_size + beta * np.exp(total) * (np.abs(k) @ np.abs(start))
    inverse = np.linalg.inv(np.eye(n) + system)
    new = np.abs(inverse @ right)
    spread = np.abs(inverse)
    terms = relative[..., None] * (right_size + sizes @ new)
    left = 2 * (terms + sizes @ (spread @ terms) + spread @ terms)  # of an inverse that is computed, too
    return new, spread @ left
