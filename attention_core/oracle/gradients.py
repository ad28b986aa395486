"""Gradients of attention in float64, first and second order, from their closed forms.

With L = <out, cotangent>: dV = P^T dO, dP = dO V^T, D_i = sum_j P_ij dP_ij, dS = P (dP - D),
dQ = scale dS K, dK = scale dS^T Q, db = dS. Masked pairs and dead rows contribute exactly nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from attention_core.oracle.masks import BoolArray, allowed_or_none
from attention_core.oracle.truth import (
    Array,
    Truth,
    attention,
    group_rows,
    grouped_allow,
    masked_matmul,
    merge,
    prepare,
    ungroup_rows,
)


@dataclass(frozen=True)
class Gradients:
    """Gradients with the shapes of the inputs, float64; mask is None unless requested."""

    query: Array
    key: Array
    value: Array
    mask: Array | None = None


def _keep(x: Array, allow: BoolArray | None) -> Array:
    """x with exact zeros where forbidden: a NaN after the mask makes 0 * NaN there."""
    if allow is not None and not np.isfinite(x).all():
        np.copyto(x, 0.0, where=~allow)
    return x


def _row_sum(x: Array, y: Array) -> Array:
    """sum_j x_ij y_ij, keeping the axis, without forming the product."""
    total: Array = np.einsum("...ij,...ij->...i", x, y)
    return total[..., None]


def _transpose(allow: BoolArray | None) -> BoolArray | None:
    return None if allow is None else allow.swapaxes(-1, -2)


def _sum_to(x: Array, shape: tuple[int, ...]) -> Array:
    """Sum x over the axes along which an array of this shape was broadcast."""
    x = x.sum(axis=tuple(range(x.ndim - len(shape))))
    stretched = tuple(a for a, n in enumerate(shape) if n == 1 and x.shape[a] != 1)
    return x.sum(axis=stretched, keepdims=True) if stretched else x


def gradients(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    cotangent: npt.ArrayLike,
    mask: npt.ArrayLike | None = None,
    *,
    is_causal: bool = False,
    alignment: str = "top_left",
    scale: float | None = None,
    want_mask: bool = False,
    truth: Truth | None = None,
    dead_rows: str = "zeros",
    softcap: float | None = None,
) -> Gradients:
    """Gradients of <out, cotangent> with respect to query, key, value and a float mask.

    dV = P^T dO;  dS = P (dP - D), dP = dO V^T, D = rowsum(P dP);  dQ = scale dS K;  dK = scale dS^T Q.

    Args:
        query, key, value, mask, is_causal, alignment, scale: as in `attention`.
        cotangent (*batch, H, n_q, d_v): gradient of the loss by the output.
        want_mask: also the float mask's gradient, dS summed over the axes the mask was broadcast along.
        truth: the result of `attention` on the same call, to spare its recomputation.
        dead_rows: "uniform" lets a dead row pass cotangent / n_kv to every value, as the mean does;
            otherwise dead rows have no gradient.
        softcap: as in `attention`; dS of a capped score times 1 - tanh^2(s / c) is that of the score.
    Returns: Gradients; key and value summed over their group of query heads.
    Raises: ValueError where shapes contradict each other.
    Example:
        >>> one = np.ones((1, 1, 1))
        >>> found = gradients(one, one, one, 2 * one)
        >>> found.value.tolist(), found.query.tolist()
        ([[[2.0]]], [[[0.0]]])

    Source: derivations/softmax_backward.md (d-query, d-key, d-value, d-bias).
    """
    q, k, v, factor = prepare(query, key, value, scale)
    given = None if mask is None else np.asarray(mask)
    if truth is None:
        how = {"is_causal": is_causal, "alignment": alignment}
        truth = attention(q, k, v, given, **how, scale=factor, softcap=softcap)  # type: ignore[arg-type]
    H, n_q, H_kv, n_kv = q.shape[-3], q.shape[-2], k.shape[-3], k.shape[-2]
    with np.errstate(all="ignore"):
        allow = allowed_or_none(n_q, n_kv, given, is_causal, alignment)
        allow = grouped_allow(allow, truth.weights, H_kv)
        p, rows = group_rows(truth.weights, H_kv), group_rows(q, H_kv)
        cot = group_rows(np.asarray(np.broadcast_to(cotangent, truth.out.shape), dtype=np.float64), H_kv)
        d_value = masked_matmul(p.swapaxes(-1, -2), cot, _transpose(allow))
        if dead_rows == "uniform" and n_kv:
            d_value += _of_uniform_rows(cot, truth.dead, H_kv) / n_kv
        ds = _keep(cot @ v.swapaxes(-1, -2), allow)
        ds -= _row_sum(p, ds)
        ds *= p
        ds = _keep(ds, allow)
        wanted = given if want_mask and given is not None and given.dtype != np.bool_ else None
        d_mask = None if wanted is None else _sum_to(ungroup_rows(ds, H, n_q), wanted.shape)
        if softcap is not None:
            ds = _keep(ds * (1 - np.tanh(factor * (rows @ k.swapaxes(-1, -2)) / softcap) ** 2), allow)
        d_query = factor * ungroup_rows(masked_matmul(ds, k, allow), H, n_q)
        d_key = factor * masked_matmul(ds.swapaxes(-1, -2), rows, _transpose(allow))
    return Gradients(_sum_to(d_query, q.shape), _sum_to(d_key, k.shape), _sum_to(d_value, v.shape), d_mask)


def _of_uniform_rows(cot: Array, dead: npt.NDArray[np.bool_], H_kv: int) -> Array:
    """The sum of the cotangents of dead rows, by key head: what n_kv times every value gets from them."""
    at_dead = np.where(dead[..., None], ungroup_rows(cot, *dead.shape[-2:]), 0.0)
    total: Array = group_rows(at_dead, H_kv).sum(axis=-2, keepdims=True)
    return total


def second_gradients(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    cotangent: npt.ArrayLike,
    directions: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
    mask: npt.ArrayLike | None = None,
    *,
    is_causal: bool = False,
    alignment: str = "top_left",
    scale: float | None = None,
    truth: Truth | None = None,
) -> Gradients:
    """Gradient of <dQ, wq> + <dK, wk> + <dV, wv> with respect to query, key and value.

    The Hessian is symmetric, so this is the derivative of (dQ, dK, dV) along (wq, wk, wv); a dot marks it:
    S' = scale (wq K^T + Q wk^T), P' = P (S' - rowsum(P S')), dP' = dO wv^T,
    dS' = P' (dP - D) + P (dP' - rowsum(P' dP + P dP')), dV' = P'^T dO,
    dQ' = scale (dS' K + dS wk), dK' = scale (dS'^T Q + dS^T wq).

    Args: as in `gradients`; directions (wq, wk, wv) with the shapes of query, key, value.
    Returns: Gradients (mask None). Raises: ValueError where shapes contradict each other.
    Example: zero directions give zeros.
    Source: derivations/softmax_backward.md (tangent).
    """
    q, k, v, factor = prepare(query, key, value, scale)
    wq, wk, wv = (np.asarray(w, dtype=np.float64) for w in directions)
    given = None if mask is None else np.asarray(mask)
    if truth is None:
        truth = attention(q, k, v, given, is_causal=is_causal, alignment=alignment, scale=factor)
    H, n_q, H_kv, n_kv = q.shape[-3], q.shape[-2], k.shape[-3], k.shape[-2]
    with np.errstate(all="ignore"):
        allow = allowed_or_none(n_q, n_kv, given, is_causal, alignment)
        allow = grouped_allow(allow, truth.weights, H_kv)
        p, q, wq = group_rows(truth.weights, H_kv), group_rows(q, H_kv), group_rows(wq, H_kv)
        cot = group_rows(np.asarray(np.broadcast_to(cotangent, truth.out.shape), dtype=np.float64), H_kv)
        dp, dp_dot = (_keep(cot @ x.swapaxes(-1, -2), allow) for x in (v, wv))
        s_dot = _keep(factor * (wq @ k.swapaxes(-1, -2) + q @ wk.swapaxes(-1, -2)), allow)
        p_dot = _keep(p * (s_dot - _row_sum(p, s_dot)), allow)
        centred = dp - _row_sum(p, dp)
        ds = _keep(p * centred, allow)
        d_dot = _row_sum(p_dot, dp) + _row_sum(p, dp_dot)
        ds_dot = _keep(p_dot * centred + p * (dp_dot - d_dot), allow)
        across, back = (ds_dot, ds), (ds_dot.swapaxes(-1, -2), ds.swapaxes(-1, -2))
        d_query = masked_matmul(across[0], k, allow) + masked_matmul(across[1], wk, allow)
        turned = _transpose(allow)
        d_key = masked_matmul(back[0], q, turned) + masked_matmul(back[1], wq, turned)
        d_value = masked_matmul(p_dot.swapaxes(-1, -2), cot, turned)
    return Gradients(factor * ungroup_rows(d_query, H, n_q), factor * d_key, d_value)


def merge_gradients(
    outs: npt.ArrayLike, lses: npt.ArrayLike, *, out: npt.ArrayLike | None = None, lse: npt.ArrayLike | None = None
) -> tuple[Array, Array]:
    """Gradients of <merged out, c> or <merged lse, c> by the parts, from their closed form.

    With q_a = exp(lse_a - lse), dP_a = <out_a, c> and D = sum_b q_b dP_b: d out_a = q_a c, d lse_a = q_a (dP_a - D);
    of the log-sum-exp d lse_a = q_a c. An empty part has q_a = 0, and a row of empty parts gives zeros.

    Args: outs (parts, *rows, d_v), lses (parts, *rows); the cotangent of out (*rows, d_v), or of lse (*rows).
    Returns: gradients like outs and like lses.
    Example:
        >>> merge_gradients([[[1.0]], [[3.0]]], [[0.0], [0.0]], out=[[1.0]])[1].tolist()
        [[-0.5], [0.5]]

    Source: derivations/merged_parts.md (given-gradient); the derivative of the softmax.
    """
    parts, logs = np.asarray(outs, dtype=np.float64), np.asarray(lses, dtype=np.float64)
    _, total = merge(parts, logs)
    with np.errstate(invalid="ignore"):
        q = np.where(logs == -np.inf, 0.0, np.exp(logs - total))
    by_out, by_lse = np.zeros(parts.shape), np.zeros(logs.shape)
    if out is not None:
        c = np.asarray(out, dtype=np.float64)
        inner = (np.where((q > 0)[..., None], parts, 0.0) * c).sum(axis=-1)
        by_out, by_lse = q[..., None] * c, q * (inner - (q * inner).sum(axis=0))
    if lse is not None:
        by_lse = by_lse + q * np.asarray(lse, dtype=np.float64)
    return by_out, by_lse
