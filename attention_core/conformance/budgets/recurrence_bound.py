"""How far right linear attention may be from the float64 truth: token by token, in blocks, or with its state carried.

A state is a sum of terms, each a key times a new value times decays. Tags in comments name steps of
derivations/linear_attention.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attention_core.conformance.budgets.error_rows import float_format
from attention_core.conformance.budgets.recurrence_terms import Roundings, Terms, Tokens, exact
from attention_core.conformance.budgets.rounding import Array


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
    f, parts = float_format(dtype, accumulate), parts if tokens.step is None else parts + 1  # (step)
    tokens = tokens.resolve()
    k, v = np.abs(tokens.key), np.abs(tokens.value)
    (*batch, n, d), d_v = k.shape, v.shape[-1]
    g = log_decays(tokens)
    reach, roundings = np.abs(g).cumsum(axis=-2), Roundings(f, tokens.log_decay is not None)
    first = np.zeros((*batch, d, d_v)) if start is None else np.abs(start)
    new = exact(v) if tokens.beta is None else find_new_values(tokens, start, roundings)
    state, last, bound = exact(first), np.zeros(first.shape), np.zeros(out.shape)
    floor = f.flush_between * (1 + k.max(initial=0.0)) * (1 + new.size.max(initial=0.0)) * (1 + first.max(initial=0.0))
    for t in range(n):
        state = state.fade(np.exp(g[..., t, :, None])) + new[..., t, None, :].times(k[..., t, :, None])
        read = np.abs(tokens.query[..., t, :, None])
        count, passed = t + 4 * parts, reach[..., t, :, None]
        sums = (read * roundings.error(state, count + d + 4, passed)).sum(axis=-2)
        bound[..., t, :] = abs(scale) * (sums + (n + d + 4) * floor * read.sum(axis=-2))
        last = roundings.error(state, count, passed)
    bound = (1 + f.u) * bound + f.u * np.abs(out) + 4 * f.flush
    return RecurrenceBounds(bound, last + (n + 4) * floor)


def log_decays(tokens: Tokens) -> Array:
    """The log decays of all features (B, H, n, d), 0 without any."""
    return np.broadcast_to(0.0 if tokens.log_decay is None else tokens.log_decay, tokens.key.shape)


def find_new_values(tokens: Tokens, start: Array | None, roundings: Roundings) -> Terms:
    """The values u that the delta rule adds, in size, and by how much they may be off (delta-residual).

    u solves (I + A) u = r, with r = beta (v - what the first state holds).
    """
    k, beta = tokens.key, np.asarray(tokens.beta)[..., None]
    system, sizes = delta_system(tokens)
    held, right = exact(beta * np.abs(tokens.value)), beta * tokens.value
    if start is not None:
        total = np.exp(log_decays(tokens).cumsum(axis=-2))
        right = right - beta * ((k * total) @ start)
        size = beta * ((np.abs(k) * total) @ np.abs(start))
        held = held + Terms(size, size * np.arange(1, k.shape[-2] + 1)[:, None], np.zeros(size.shape))
    inverse = np.asarray(np.linalg.inv(np.eye(k.shape[-2]) + system), dtype=np.float64)
    return Terms(
        np.abs(inverse @ right), np.zeros(right.shape), solution_error(inverse, sizes, held, tokens, roundings)
    )


def delta_system(tokens: Tokens) -> tuple[Array, Terms]:
    """A and its terms, (..., n, n): A_ij = beta_i sum_c k_ic k_jc e^(G_ic - G_jc) for j < i, i - j tokens old."""
    k, beta = tokens.key, np.asarray(tokens.beta)[..., None]
    total, n = log_decays(tokens).cumsum(axis=-2), k.shape[-2]
    system, sizes = np.zeros((2, *k.shape[:-1], n))
    for i in range(1, n):
        fade = np.exp(np.minimum(total[..., i : i + 1, :] - total[..., :i, :], 0.0))
        terms = k[..., i : i + 1, :] * k[..., :i, :] * fade
        system[..., i, :i], sizes[..., i, :i] = terms.sum(axis=-1), np.abs(terms).sum(axis=-1)
    sizes = np.abs(beta) * sizes
    between = np.arange(n)[:, None] - np.arange(n)
    return beta * system, Terms(sizes, sizes * between, np.zeros(sizes.shape))


def solution_error(inverse: Array, system: Terms, right: Terms, tokens: Tokens, roundings: Roundings) -> Array:
    """By how much the solution of (I + A) u = r may be off, by whatever method (delta-residual).

    Args: inverse: of I + A; system: the terms of A; right: those of r; all turned for the system of the gradients.
    """
    n, d = tokens.key.shape[-2:]
    spread = np.abs(inverse)
    reach = np.abs(log_decays(tokens)).sum(axis=-2).max(axis=-1)[..., None, None]
    left = roundings.error(right.times(2.0) + system.matmul(exact(spread @ right.size)), n + d + 8, reach)
    return np.asarray(spread @ (left + system.size @ (spread @ left)))
