"""Gradients of sigmoid and differential attention, and how far correct ones may be from them.

Tags in comments name steps of derivations/variants.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets.budget import ForwardBounds, backward_bound
from attention_core.conformance.budgets.error_rows import Format, float_format, gamma
from attention_core.conformance.budgets.rounding import Array
from attention_core.conformance.budgets.variant_bound import weights_and_errors

Gradients = Mapping[str, tuple[Array, Array]]
"""Role of an input -> the true gradient and its budget."""
Map = tuple[dict[str, tuple[Array, Array, Array]], Array, Array, Array]
"""One map: gradients by name with budget and size; its output, the budget of that, and sum_j p_j |v_j|."""


def sum_groups(values: Array, group: int) -> Array:
    """(B, H, n, d) summed over the query heads of each key head, (B, H_kv, n, d)."""
    B, H, n, d = values.shape
    return np.asarray(values.reshape(B, H // group, group, n, d).sum(2))


def sigmoid_gradients(
    query: Array, key: Array, value: Array, down: Array, pairs: Array, *,
    scale: float, bias: float, group: int, dtype: str, accumulate: str, slack: Array | float = 0.0,
) -> Gradients:  # fmt: skip
    """Gradients of <out, down> by query, key, value and bias with their budgets.

    dS = p (1 - p) dP, dP = dO V^T; dQ = c dS K, dK = c dS^T Q, dV = P^T dO, db = sum dS.

    Args: key, value: (B, H, n_kv, ..), once for every query head; group: query heads of a key head, which are summed.
        slack: how far the kernel's own `down` may be from it, as behind a norm.
    Raises: ValueError for an unknown accumulate.
    Source: derivations/variants.md (slope, slope-error, slope-product, bias-gradient, cotangent).
    """
    fmt, (n_q, n_kv) = float_format(dtype, accumulate), pairs.shape
    weights, off = weights_and_errors(query, key, pairs, scale=scale, bias=bias, fmt=fmt)
    slack = np.broadcast_to(slack, down.shape)
    turned_value = np.abs(value).swapaxes(-1, -2)
    passed, most = down @ value.swapaxes(-1, -2), (np.abs(down) + slack) @ turned_value
    passed_off = ((1 + gamma(value.shape[-1], fmt.a)) * (1 + fmt.w) - 1) * most + fmt.flush_between
    passed_off = passed_off + slack @ turned_value  # (cotangent)
    slope = weights * (1 - weights)  # (slope)
    slope_off = np.where(pairs, off + gamma(4, fmt.w) * (slope + off), 0.0)  # (slope-error)
    true, size = slope * passed, (slope + slope_off) * (np.abs(passed) + passed_off)
    error = slope_off * np.abs(passed) + (slope + slope_off) * passed_off  # (slope-product)
    error = np.where(pairs, error + gamma(3, fmt.w) * size + fmt.flush_between, 0.0)

    def times(
        first: Array, first_off: Array, second: Array, terms: int, factor: float, off: Array | float = 0.0
    ) -> tuple[Array, Array]:
        """A product with an array that is exact, or `off` by so much, and the error of it."""
        wide = np.abs(second) + off
        moved = 0.0 if isinstance(off, float) else np.abs(first) @ off
        reach = (np.abs(first) + first_off) @ wide
        return factor * (first @ second), abs(factor) * (first_off @ wide + moved + gamma(terms + 2, fmt.a) * reach)

    turned, turned_off = true.swapaxes(-1, -2), error.swapaxes(-1, -2)
    d_query = times(true, error, key, n_kv, scale)
    d_key = _sum_heads(times(turned, turned_off, query, n_q, scale), group, fmt)
    d_value = _sum_heads(times(weights.swapaxes(-1, -2), off.swapaxes(-1, -2), down, n_q, 1.0, slack), group, fmt)
    total = error.sum() + gamma(true.size, fmt.a) * (np.abs(true) + error).sum()
    found = {"query": d_query, "key": d_key, "value": d_value, "bias": (true.sum(), total)}  # (bias-gradient)
    return {role: (np.asarray(exact), _store(limit, exact, 3, fmt, scale)) for role, (exact, limit) in found.items()}


def _sum_heads(found: tuple[Array, Array], group: int, fmt: Format) -> tuple[Array, Array]:
    """A gradient of every query head and its error, summed over the heads of each key head."""
    true, error = found
    more = gamma(group, fmt.w) * (np.abs(true) + error) if group > 1 else 0.0
    return sum_groups(true, group), sum_groups(error + more, group)


def _store(error: Array, truth: Array, count: int, fmt: Format, scale: float = 1.0) -> Array:
    """The budget of a gradient after its last roundings."""
    g = gamma(count, fmt.u)
    found = (1 + g) * error + g * np.abs(truth) + 4 * fmt.flush * max(1.0, abs(scale))
    return np.where(np.isnan(found), np.inf, found)  # where nothing is known of a row that it reaches


def map_gradients(
    query: Array, key: Array, value: Array, down: Array, truth: oracle.Truth, bounds: ForwardBounds, *,
    mask: Array, scale: float, dtype: str, accumulate: str, merges: str = "none", slack: Array | None = None,
) -> dict[str, tuple[Array, Array, Array]] | None:  # fmt: skip
    """Gradients of one softmax map by query, key and value, with their budgets and the sizes of their terms.

    None where scores are beyond the range of the dtype.

    Args: slack: how far the kernel's own `down` may be from it; None for 0.
    """
    how: dict[str, Any] = {"mask": mask, "scale": scale, "dead_rows": "zeros"}
    true = oracle.gradients(query, key, value, down, truth=truth, **how)
    limits = backward_bound(
        query, key, value, down, truth, true, **how, dtype=dtype, accumulate=accumulate, forward_bounds=bounds,
        merges=merges, slack=slack,
    )  # fmt: skip
    if not limits.finite.all():
        return None
    group = query.shape[1] // key.shape[1]
    keys, values = (np.abs(np.repeat(x, group, 1)) for x in (key, value))
    wide = np.abs(down) + (0.0 if slack is None else slack)
    passed, weights = wide @ values.swapaxes(-1, -2), truth.weights
    slopes = abs(scale) * weights * (passed + (weights * passed).sum(-1, keepdims=True))
    turned = slopes.swapaxes(-1, -2) @ np.abs(query), weights.swapaxes(-1, -2) @ wide
    sizes = {"query": slopes @ keys, "key": sum_groups(turned[0], group), "value": sum_groups(turned[1], group)}
    return {name: (getattr(true, name), getattr(limits, name), size) for name, size in sizes.items()}


def difference_gradients(
    first: Map, second: Map, down: Array, n_kv: int, *, dtype: str, accumulate: str, slack: Array | float = 0.0
) -> Gradients:  # fmt: skip
    """Gradients of <o_1 - lambda o_2, down> by both queries and keys, the value and lambda, with their budgets.

    Those of the second map are of -lambda times `down`; lambda, its product and the difference round three times.

    Args: first, second: each map, the second with the gradients of -lambda down. slack: how far the kernel's own
        `down` may be from it, which the maps count already.
    Raises: ValueError for an unknown accumulate.
    Source: derivations/variants.md (map-gradient, lambda-gradient).
    """
    fmt = float_format(dtype, accumulate)
    g = gamma(3, fmt.w)  # (map-gradient)
    found: dict[str, tuple[Array, Array]] = {}
    for which, end in ((first, ""), (second, "2")):
        for name in ("query", "key"):
            true, limit, size = which[0][name]
            wide = limit + g * (size + limit)
            found[f"{name}{end}"] = true, np.where(np.isnan(wide), np.inf, wide)
    (one, one_off, one_size), (two, two_off, two_size) = first[0]["value"], second[0]["value"]
    off = one_off + two_off
    found["value"] = one + two, _store(off + g * (one_size + two_size + off), one + two, 1, fmt)
    _, out, bound, spread = second
    exact = -(down * out).sum()  # (lambda-gradient)
    reach = ((np.abs(down) + slack) * (spread + bound)).sum()
    error = ((np.abs(down) + slack) * bound).sum() + (np.broadcast_to(slack, out.shape) * np.abs(out)).sum()
    error = error + (gamma(down.size + n_kv + 4, fmt.a) + g) * reach
    found["weight"] = np.asarray(exact), _store(np.asarray(error), np.asarray(exact), 1, fmt)
    return found
