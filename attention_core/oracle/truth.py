"""Attention in float64, over many small problems at once: scores, weights, output, log-sum-exp.

What a mask forbids never enters a result, whatever stands there: no product with it is kept. What
is attended enters as float64 arithmetic has it, so a NaN or an infinity in an attended key shows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from attention_core.oracle.masks import BoolArray, allowed_or_none

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Truth:
    """What attention is on one pack of problems, all float64; *batch is often one axis B."""

    scores: Array  # (*batch, H, n_q, n_kv) scaled scores plus bias, -inf where masked
    weights: Array  # (*batch, H, n_q, n_kv) rows sum to 1; dead rows are 0
    out: Array  # (*batch, H, n_q, d_v) dead rows as declared
    lse: Array  # (*batch, H, n_q) natural log of the sum of exp(scores); -inf for dead rows
    dead: BoolArray  # (*batch, H, n_q) no key left by mask and causal together


def group_rows(x: Array, H_kv: int) -> Array:
    """(*batch, H, n, c) -> (*batch, H_kv, G n, c): the G query heads of one key head as one block of rows."""
    *batch, H, n, c = x.shape
    G = H // H_kv if H_kv else 0
    return x.reshape(*batch, H_kv, G * n, c)


def ungroup_rows(x: Array, H: int, n: int) -> Array:
    """Inverse of `group_rows`: (*batch, H_kv, G n, c) -> (*batch, H, n, c)."""
    return x.reshape(*x.shape[:-3], H, n, x.shape[-1])


def grouped_allow(allow: BoolArray | None, like: Array, H_kv: int) -> BoolArray | None:
    """`allow` expanded to (*batch, H, n_q, n_kv) and grouped as `group_rows` does; None stays None."""
    if allow is None:
        return None
    full = np.broadcast_to(allow, like.shape)
    *batch, H, n_q, n_kv = like.shape
    return full.reshape(*batch, H_kv, (H // H_kv if H_kv else 0) * n_q, n_kv)


def masked_matmul(coefficients: Array, rows: Array, allow: BoolArray | None) -> Array:
    """sum_j coefficients_ij rows_j over the allowed j alone, as float64 arithmetic has it.

    Plain `@` forms 0 * NaN where a forbidden row holds NaN; here such products are left out. Sums of
    what is not finite do not depend on their order, so counting each kind of term decides them.
    """
    if allow is None or bool(np.isfinite(rows).all()):
        return np.asarray(coefficients @ rows)
    finite = np.isfinite(rows)
    out = coefficients @ np.where(finite, rows, 0.0)
    up = np.where(rows == np.inf, 1.0, 0.0)
    down = np.where(rows == -np.inf, 1.0, 0.0)
    positive = np.where(allow & (coefficients > 0), 1.0, 0.0)
    negative = np.where(allow & (coefficients < 0), 1.0, 0.0)
    zero = np.where(allow & (coefficients == 0), 1.0, 0.0)
    plus = positive @ up + negative @ down
    minus = positive @ down + negative @ up
    nan = np.where(allow, 1.0, 0.0) @ np.where(np.isnan(rows), 1.0, 0.0) + zero @ (up + down)
    out = out + np.where(plus > 0, np.inf, 0.0)
    with np.errstate(invalid="ignore"):  # inf - inf is the NaN that is wanted
        out = out - np.where(minus > 0, np.inf, 0.0)
    return np.asarray(np.where(nan > 0, np.nan, out))


def prepare(
    query: npt.ArrayLike, key: npt.ArrayLike, value: npt.ArrayLike, scale: float | None
) -> tuple[Array, Array, Array, float]:
    """The three inputs as float64 and the scale (1 / sqrt(d) by default); contradictions raise."""
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (query, key, value))
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"head sizes of query and key differ: {q.shape[-1]} and {k.shape[-1]}")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"lengths of key and value differ: {k.shape[-2]} and {v.shape[-2]}")
    H, H_kv = q.shape[-3], k.shape[-3]
    if v.shape[-3] != H_kv:
        raise ValueError(f"heads of key and value differ: {H_kv} and {v.shape[-3]}")
    if (H % H_kv) if H_kv else H:
        raise ValueError(f"query heads {H} are not a multiple of key heads {H_kv}")
    return q, k, v, 1.0 / np.sqrt(max(q.shape[-1], 1)) if scale is None else float(scale)


def _scores(
    query: Array, key: Array, bias: Array | None, allow: BoolArray | None, scale: float, softcap: float | None
) -> Array:  # fmt: skip
    """s_ij = scale q_i . k_j + b_ij, capped before the bias, -inf where forbidden."""
    H, n_q, H_kv = query.shape[-3], query.shape[-2], key.shape[-3]
    scores = ungroup_rows(group_rows(query, H_kv) @ key.swapaxes(-1, -2), H, n_q)
    scores *= scale
    if softcap is not None:
        scores = softcap * np.tanh(scores / softcap)
    if bias is not None:
        scores += bias
    if allow is not None:
        np.copyto(scores, -np.inf, where=~allow)
    return scores


def _softmax(scores: Array, dead: BoolArray, allow: BoolArray | None) -> tuple[Array, Array]:
    """Weights exp(s - m) / sum exp(s - m) and lse = m + log sum exp(s - m), m the row's maximum."""
    top = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    top[dead] = 0.0
    weights = np.subtract(scores, top)
    np.exp(weights, out=weights)
    total = weights.sum(axis=-1, keepdims=True)
    lse = top[..., 0] + np.log(total[..., 0])
    total[dead] = 1.0
    weights /= total
    if allow is not None and not np.isfinite(lse[~dead]).all():
        np.copyto(weights, 0.0, where=~allow)  # a row of NaN is NaN only where it may attend
    return weights, lse


def _dead_value(value: Array, dead_rows: str, H: int) -> Array | float:
    """What a dead row's output is: 0, NaN, or the plain mean of all values (0 where there are none)."""
    if dead_rows in ("zeros", "unspecified"):
        return 0.0
    if dead_rows == "nan":
        return np.nan
    if dead_rows == "uniform":
        mean = value.sum(axis=-2, keepdims=True) / max(value.shape[-2], 1)
        return np.repeat(mean, H // max(value.shape[-3], 1), axis=-3)
    raise ValueError(f"dead_rows must be zeros, nan, uniform or unspecified, got {dead_rows!r}")


def attention(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    mask: npt.ArrayLike | None = None,
    *,
    is_causal: bool = False,
    alignment: str = "top_left",
    scale: float | None = None,
    dead_rows: str = "zeros",
    softcap: float | None = None,
) -> Truth:
    """Scaled dot-product attention in float64.

    s_ij = scale q_i . k_j + b_ij;  p_ij = exp(s_ij) / sum_j exp(s_ij);  o_i = sum_j p_ij v_j.
    With a soft cap c, c tanh(scale q_i . k_j / c) stands for scale q_i . k_j.

    Args:
        query (*batch, H, n_q, d); key (*batch, H_kv, n_kv, d); value (*batch, H_kv, n_kv, d_v):
            query head h uses key head h // (H / H_kv).
        mask: bool (True = attend) or float (added to the scaled scores, -inf forbids),
            broadcastable to (*batch, H, n_q, n_kv).
        is_causal, alignment: as in `causal_mask`, together with the mask.
        scale: default 1 / sqrt(d).
        dead_rows: output of rows with no key left: zeros, nan, uniform (mean of all values) or
            unspecified (zeros here, which must not be compared).
        softcap: the cap c of the scaled scores, above 0; None for none.
    Returns: Truth.
    Raises: ValueError where shapes contradict each other.
    Example:
        >>> attention([[[0.0]]], [[[0.0], [0.0]]], [[[1.0], [3.0]]]).out.tolist()
        [[[2.0]]]

    Source: Vaswani et al., "Attention Is All You Need" (2017), eq. 1; derivations/attention.md (matrix).
    """
    q, k, v, factor = prepare(query, key, value, scale)
    given = None if mask is None else np.asarray(mask)
    H, n_q, H_kv, n_kv = q.shape[-3], q.shape[-2], k.shape[-3], k.shape[-2]
    with np.errstate(all="ignore"):  # what is masked may overflow or be NaN, and dead rows take log 0
        allow = allowed_or_none(n_q, n_kv, given, is_causal, alignment)
        bias = None if given is None or given.dtype == np.bool_ else np.asarray(given, dtype=np.float64)
        scores = _scores(q, k, bias, allow, factor, softcap)
        if allow is None:
            dead = np.full(scores.shape[:-1], n_kv == 0)
        else:
            dead = np.array(np.broadcast_to(~allow.any(axis=-1), scores.shape[:-1]))
        weights, lse = _softmax(scores, dead, allow)
        product = masked_matmul(group_rows(weights, H_kv), v, grouped_allow(allow, weights, H_kv))
        out = ungroup_rows(product, H, n_q)
        if dead.any():
            out = np.where(dead[..., None], _dead_value(v, dead_rows, H), out)
    return Truth(scores, weights, out, lse, dead)


def merge(outs: npt.ArrayLike, lses: npt.ArrayLike) -> tuple[Array, Array]:
    """Attention over all keys from attention over parts of them.

    lse = log sum_a exp(lse_a);  out = sum_a exp(lse_a - lse) out_a.

    Args: outs (parts, ..., n_q, d_v); lses (parts, ..., n_q); parts with lse = -inf do not contribute.
    Returns: out (..., n_q, d_v) and lse (..., n_q); 0 and -inf where no part contributes.
    Example:
        >>> merge([[[1.0]], [[3.0]]], [[0.0], [0.0]])[0].tolist()
        [[2.0]]

    Source: derivations/online_softmax.md (merge-out, merge-lse).
    """
    parts, logs = np.asarray(outs, dtype=np.float64), np.asarray(lses, dtype=np.float64)
    top = logs.max(axis=0, initial=-np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.exp(logs - np.where(top == -np.inf, 0.0, top))
        total = share.sum(axis=0)
        lse = top + np.log(total)
        kept = np.where(share[..., None] == 0, 0.0, parts)
        out = (share[..., None] * kept).sum(axis=0) / np.where(total == 0, 1.0, total)[..., None]
    return out, lse
