"""How far a correct sigmoid or differential attention may be from the float64 truth.

Tags in comments name steps of derivations/variants.md.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.budgets.error_rows import Format, float_format, gamma
from attention_core.conformance.budgets.rounding import Array

STORES = 4
"""Roundings of a score beside those of its dot product: its scale, the product with that, the bias, and the sum."""
SIGMOID_ROUNDINGS = 8
"""Of a weight: exp by four units in the last place, a sum, a quotient, and what is stored."""
ABSOLUTE = 4
"""Units that a weight may be off whatever its size: 1/2 + tanh(s/2)/2 rounds numbers near 1."""


def sigmoid_weights(query: Array, key: Array, pairs: Array, scale: float, bias: float) -> Array:
    """p_ij = 1 / (1 + exp(-(scale q_i . k_j + bias))) at the pairs that are attended, 0 at the others.

    Example:
        >>> one = np.ones((1, 1, 1, 1))
        >>> sigmoid_weights(one, 0 * one, np.ones((1, 1), bool), 1.0, 0.0).item()
        0.5
    """
    scores = scale * (query @ key.swapaxes(-1, -2)) + bias
    with np.errstate(over="ignore"):
        return np.where(pairs, 1.0 / (1.0 + np.exp(-scores)), 0.0)


def sigmoid_bound(
    query: Array, key: Array, value: Array, pairs: Array, *, scale: float, bias: float, dtype: str, accumulate: str
) -> Array:
    """Largest distance of a correct sigmoid attention from the truth.

    A score is off by D = g (|scale| |q| . |k| + |bias|), with g = (1 + gamma_d(a)) (1 + gamma_4(w)) - 1, its weight by
    p (e^D (1 + gamma_8(w)) - 1) + 4 a, and the sum of n terms rounds each of them n + 2 times.

    Args: query, key, value (..., n, d or d_v); pairs bool (n_q, n_kv), the pairs that are attended.
    Returns: (..., n_q, d_v). Raises: ValueError for an unknown accumulate.
    Source: derivations/variants.md (weight-error, near-one, sum-error).
    """
    fmt = float_format(dtype, accumulate)
    n, size = key.shape[-2], np.abs(value)
    weights, off = weights_and_errors(query, key, pairs, scale=scale, bias=bias, fmt=fmt)
    error = off @ size + gamma(n + 2, fmt.a) * ((weights + off) @ size)  # (sum-error)
    out = np.abs(weights @ value)
    return np.asarray((1 + fmt.u) * error + fmt.u * out + (n + 2) * fmt.flush)


def weights_and_errors(
    query: Array, key: Array, pairs: Array, *, scale: float, bias: float, fmt: Format
) -> tuple[Array, Array]:
    """The weights of sigmoid attention, and how far each may be off; 0 and 0 at pairs that are not attended."""
    d, weights = query.shape[-1], sigmoid_weights(query, key, pairs, scale, bias)
    factor = (1 + gamma(d, fmt.a)) * (1 + gamma(STORES, fmt.w)) - 1
    products = np.abs(query) @ np.abs(key).swapaxes(-1, -2)
    lost = fmt.flush_between * (d + 2)
    with np.errstate(over="ignore"):
        grown = np.exp(factor * (abs(scale) * products + abs(bias)) + lost)  # (weight-error)
    off = weights * (grown * (1 + gamma(SIGMOID_ROUNDINGS, fmt.w)) - 1) + ABSOLUTE * fmt.a + fmt.flush_between
    return weights, np.where(pairs, np.minimum(off, 1.0), 0.0)  # a weight lies between 0 and 1


def difference_bound(
    first: tuple[Array, Array, Array], second: tuple[Array, Array, Array], weight: float, *, dtype: str, accumulate: str
) -> Array:
    """Largest distance of a correct o_1 - lambda o_2 from the truth.

    Each map is off by its own budget, and lambda, its product and the difference round what is subtracted, outputs or
    weights: |o'| - |o| <= E_1 + |lambda| E_2 + gamma_3(w) sum_j (p_1j + |lambda| p_2j) |v_j|.

    Args: first, second: (out, budget, sum_j p_j |v_j|) of each map; weight: lambda.
    Raises: ValueError for an unknown accumulate.
    Source: derivations/variants.md (difference).
    """
    fmt = float_format(dtype, accumulate)
    spread = first[2] + abs(weight) * second[2]
    error = first[1] + abs(weight) * second[1]
    error = error + gamma(3, fmt.w) * (spread + error)
    return np.asarray(error + fmt.u * np.abs(first[0] - weight * second[0]) + 4 * fmt.flush)
