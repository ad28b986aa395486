"""How far correct second derivatives in float64 may be from the truth: one relative error times all terms.

The closed form is a polynomial in the weights, the inputs, the cotangent and the directions; whatever the
order in which a kernel sums its terms, each carries at most the same number of roundings
(derivations/second_gradients.md, (two-ways) and (magnitudes)).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from attention_core.oracle import Gradients, Truth
from attention_core.oracle.truth import group_rows

Array = npt.NDArray[np.float64]
Three = tuple[Array, Array, Array]
UNIT = 2.0**-53
FLUSH = 2.0**-1022
JUDGED = 1 / 16
"""Above this relative error of a term there is no bound."""


def second_bound(
    inputs: Three, cotangent: Array, directions: Three, truth: Truth,
    mask: npt.NDArray[np.generic] | None = None, scale: float | None = None,
) -> Gradients:  # fmt: skip
    """Largest distance of correct float64 second derivatives from `oracle.second_gradients`.

    |f' - t| <= 2 rho / (1 - rho) M + floor, rho = (1 + R)^3 (1 + gamma_N) - 1, M = the closed form with every
    term replaced by its magnitude and every mean of a row by its largest entry, 2 n_kv + 1 times, since a kernel may
    merge parts of the keys, whose own weights are larger; R the relative error of a weight.

    Args:
        inputs: query (*batch, H, n_q, d), key (*batch, H_kv, n_kv, d), value (*batch, H_kv, n_kv, d_v).
        cotangent (*batch, H, n_q, d_v); directions: like the inputs.
        truth: the result of `oracle.attention` on them. mask, scale: as there.
    Returns: Gradients whose query, key, value hold the bounds; inf throughout where rho exceeds 1/16.
    Raises: nothing.
    Example: second_bound((q, k, v), c, (wq, wk, wv), truth).query has the shape of q.
    Source: derivations/second_gradients.md (in-parts, rho-second, distance).
    """
    q, k, v = (np.abs(x) for x in inputs)
    wq, wk, wv = (np.abs(w) for w in directions)
    factor = 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else abs(float(scale))
    rho, floor = _roundings((q, k, v), np.abs(cotangent), (wq, wk, wv), truth, mask, factor)
    if rho > JUDGED:
        return Gradients(*(np.full(x.shape, np.inf) for x in inputs))
    H_kv = k.shape[-3]
    q, wq, cot = (group_rows(x, H_kv) for x in (q, wq, np.abs(cotangent)))
    p = group_rows(truth.weights + np.where(np.isneginf(truth.scores), 0.0, FLUSH / rho), H_kv)
    s_dot = factor * (wq @ _turn(k) + q @ _turn(wk))
    dp, dp_dot = cot @ _turn(v), cot @ _turn(wv)
    live, means = group_rows(np.isfinite(truth.scores).astype(float), H_kv), 2 * k.shape[-2] + 1  # (in-parts)
    x, g, g_dot = (
        np.where(live > 0, part, 0.0).max(axis=-1, keepdims=True, initial=0.0) for part in (s_dot, dp, dp_dot)
    )
    p_dot = p * (s_dot + means * x)
    centred = dp + means * g
    ds = p * centred
    ds_dot = p_dot * centred + p * (dp_dot + means * ((1 + means) * x * g + g_dot))
    d_query = factor * (ds_dot @ k + ds @ wk)
    d_key = factor * (_turn(ds_dot) @ q + _turn(ds) @ wq)
    d_value = _turn(p_dot) @ cot
    query, key, value = (2 * rho / (1 - rho) * m + floor for m in (d_query, d_key, d_value))
    return Gradients(query.reshape(inputs[0].shape), key, value)


def _turn(x: Array) -> Array:
    return x.swapaxes(-1, -2)


def _roundings(
    inputs: Three, cotangent: Array, directions: Three, truth: Truth, mask: npt.NDArray[np.generic] | None,
    factor: float,
) -> tuple[float, float]:  # fmt: skip
    """rho, and what underflow can add to a result."""
    q, k, v = inputs
    n_kv, d = k.shape[-2], q.shape[-1]
    rows = q.shape[-2] * (q.shape[-3] // max(k.shape[-3], 1))
    longest = d + v.shape[-1] + 4 * n_kv + rows + 32
    gamma = longest * UNIT / (1 - longest * UNIT)
    keys = np.repeat(k, q.shape[-3] // max(k.shape[-3], 1), axis=-3)
    size = factor * (q @ keys.swapaxes(-1, -2))
    if mask is not None and mask.dtype != np.bool_:
        size = size + np.where(np.isfinite(mask), np.abs(mask), 0.0)
    live = np.isfinite(truth.scores)
    scores, lse = np.where(live, truth.scores, 0.0), np.where(truth.dead, 0.0, truth.lse)[..., None]
    delta = (d + 8) * UNIT * size + 8 * UNIT * (1 + np.abs(scores) + np.abs(lse))
    worst = float(np.where(live, delta, 0.0).max(initial=0.0))
    weight = math.exp(min(2 * worst, 1.0)) * (1 + (2 * n_kv + 16) * UNIT) - 1
    largest = [1 + float(x.max(initial=0.0)) for x in (*inputs, cotangent, *directions)]
    floor = FLUSH * longest**4 * (1 + factor) ** 2 * math.prod(largest) ** 2
    return (1 + weight) ** 3 * (1 + gamma) - 1, floor
