"""How far a correct kernel may be from the float64 truth: bounds of all orders, entry by entry.

Every formula has a tag in derivations/error_budget.md, and the comments here name it. Nothing is
fitted: a result outside its bound was not computed by rounding the right formula.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from attention_core.conformance.budgets.error_backward import Backward
from attention_core.conformance.budgets.error_rows import (
    BoolArray,
    Format,
    Forwarded,
    Rows,
    Stored,
    float_format,
    forward,
    gamma,
    sum_count,
)
from attention_core.conformance.budgets.rounding import FLUSH, HUGE, TINY, UNIT_ROUNDOFF, Array, round_to
from attention_core.oracle import Gradients, Truth

__all__ = [
    "FLUSH",
    "HUGE",
    "TINY",
    "UNIT_ROUNDOFF",
    "BackwardBounds",
    "ForwardBounds",
    "Stored",
    "backward_bound",
    "forward_bound",
    "round_to",
]


@dataclass(frozen=True)
class ForwardBounds:
    """|result - truth| <= bound for a forward call, entry by entry; inf where there is no bound."""

    out: Array  # (*batch, H, n_q, d_v)
    lse: Array  # (*batch, H, n_q)
    exact: BoolArray  # (*batch, H, n_q) errors of the scores are below EXACT
    finite: BoolArray  # (*batch, H, n_q) no intermediate can overflow: inf or NaN is wrong
    inside: Forwarded | None = field(default=None, repr=False)  # what a backward bound of the same problem begins with


@dataclass(frozen=True)
class BackwardBounds:
    """|gradient - truth| <= bound, entry by entry; inf where there is no bound; mask None if not requested."""

    query: Array  # like query
    key: Array  # like key
    value: Array  # like value
    mask: Array | None  # like the float mask
    exact: BoolArray  # (*batch, H, n_q) errors of the scores are below EXACT
    finite: BoolArray  # (*batch, H, n_q) no intermediate can overflow: inf or NaN is wrong


def _allow_overflow(bound: Array, truth: Array, huge: float) -> Array:
    """The bound, and infinity where it is undefined or the result may leave the format (overflow)."""
    bound = np.where(np.isnan(bound), np.inf, bound)
    return np.where(np.abs(truth) + bound < huge, bound, np.inf)


def _means(truth: Truth, dead_rows: str | None) -> bool:
    """Whether dead rows are means of all values; a mean may be 0, so without the declaration it is a guess."""
    dead = truth.out[truth.dead]
    return bool(np.isfinite(dead).all() and (dead != 0).any()) if dead_rows is None else dead_rows == "uniform"


def _dead(rows: Rows, means: bool, blocks: int | None) -> Array:
    """Error of a dead row: none where it is 0 (or NaN), else that of the plain mean of the values (dead)."""
    if not means or not rows.n_kv:
        return np.zeros((1, 1))
    f = rows.fmt
    mean = (gamma(sum_count(rows.n_kv, blocks), f.a) + gamma(4, f.u)) * rows.v.mean(axis=-2, keepdims=True)
    return np.asarray(mean + f.flush)


def forward_bound(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    truth: Truth,
    *,
    mask: npt.ArrayLike | None = None,
    scale: float | None = None,
    dtype: str,
    accumulate: str = "input",
    blocks: int | None = None,
    dead_rows: str | None = None,
    merges: str = "none",
    softcap: float | None = None,
    computed_bias: bool = False,
    stored: Stored | None = None,
) -> ForwardBounds:
    """Largest distance of a correct output, and log-sum-exp, from the truth.

    |o' - o| <= sum_j p_j (e^D_j - 1) |v_j - o| / L + rho sum_j p_j e^D_j |v_j| / L + u |o|, with D_j the
    error of score j, L = sum_j p_j e^-D_j, rho the roundings of the weighted mean, u the unit roundoff.

    Args:
        query, key, value, mask, scale: those that `truth` was computed from, already rounded to dtype.
        truth: the result of `oracle.attention` (with its dead_rows) on them.
        dtype: of inputs and output. accumulate: "float32" if scores and sums stay in float32, "input"
            if what lies between two operations is stored in dtype.
        blocks: number of key blocks that are merged; default ceil(n_kv / 16).
        dead_rows: that of the truth; without it "uniform" is recognised where some mean is not 0.
        merges: "lse" if parts of the keys are added times exp(lse - total), which nothing divides by its sum.
        softcap: that of the truth. computed_bias: whether the kernel computes the bias itself, as ALiBi's.
        stored: what it adds that keys and values are stored numbers times scales, or come from a latent; else None.
    Returns: Bounds with out, lse, exact, finite. Where a score's error passes 1 the hull of the values
        bounds the output.
    Raises: ValueError for an unknown accumulate.
    Example: forward_bound(q, k, v, truth, dtype="float32").out has the shape of truth.out.
    Source: derivations/error_budget.md (one-row, one-row-lse); derivations/merged_parts.md (merged).
    """
    fmt = float_format(dtype, accumulate)
    with np.errstate(all="ignore"):
        rows = Rows((query, key, value), truth, mask, scale, fmt, blocks, merges, softcap, computed_bias, stored)
        # A kernel that splits the keys merges its parts by a rounded log-sum-exp, as the backward pass does (stored).
        inside = Forwarded(rows, *forward(rows, truth, stored_lse=True))
        out, lse = inside.error, inside.lse
        out = _allow_overflow(out.reshape(truth.out.shape), truth.out, fmt.huge)
        lse = lse.reshape(rows.heads)
        if truth.dead.any():
            at_dead = np.broadcast_to(_dead(rows, _means(truth, dead_rows), blocks), rows.group_heads(out).shape)
            out = np.where(truth.dead[..., None], at_dead.reshape(out.shape), out)
            lse = np.where(truth.dead, 0.0, lse)
        finite = truth.dead | (rows.finite.reshape(rows.heads) & np.isfinite(out).all(axis=-1))
        if not finite.all():
            out[~finite] = np.inf
            lse[~finite] = np.inf
        exact = rows.exact.reshape(rows.heads) & finite
    return ForwardBounds(out=out, lse=lse, exact=exact, finite=finite, inside=inside)


def _sum_to(x: Array, shape: tuple[int, ...]) -> Array:
    """Sum x over the axes along which an array of this shape was broadcast."""
    x = x.sum(axis=tuple(range(x.ndim - len(shape))))
    stretched = tuple(a for a, n in enumerate(shape) if n == 1 and x.shape[a] != 1)
    return x.sum(axis=stretched, keepdims=True) if stretched else x


def _last(error: Array, truth: Array, count: int, f: Format, scale: float = 1.0) -> Array:
    """The last roundings of a gradient, and underflow, which a scale may enlarge afterwards (last)."""
    g = gamma(count, f.u)
    return _allow_overflow((1 + g) * error + g * np.abs(truth) + f.flush * max(1.0, scale), truth, f.huge)


def _dead_value(rows: Rows, means: bool, cot: Array) -> Array | float:
    """Error of what uniform dead rows pass to every value, cotangent / n_kv (dead)."""
    if not means:
        return 0.0
    f = rows.fmt
    passed = np.where(rows.dead[..., None], cot, 0.0).sum(axis=-2, keepdims=True) / max(rows.n_kv, 1)
    return np.asarray((gamma(rows.rows[-1] + 4, f.a) + gamma(8, f.u)) * passed + f.flush)


def _mask_bound(rows: Rows, back: Backward, lost: Array, truth: Truth, d_mask: Array) -> Array:
    """E_db: the errors of dS and of their sum over the axes along which the mask was broadcast (dQ, all factors 1)."""
    count = max(1, truth.scores.size // max(1, d_mask.size))
    error = back.ds_error + back.at_leading()
    error += gamma(count, rows.fmt.a) * (back.ds + error)
    error += lost[..., None]
    error[rows.masked] = 0.0
    return _last(_sum_to(error.reshape(truth.scores.shape), d_mask.shape), d_mask, 1, rows.fmt)


def lse_backward_bound(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    cotangent: npt.ArrayLike,
    truth: Truth,
    *,
    mask: npt.ArrayLike | None = None,
    scale: float | None = None,
    dtype: str,
    accumulate: str = "input",
    merges: str = "none",
) -> tuple[Array, Array]:
    """Largest distance of correct gradients of <lse, cotangent> by query and key from the true ones.

    dS = P dL, E_dS = |dL| (p R + 3 u p (1 + R)), and E_dQ, E_dK follow from it as in `backward_bound`.

    Args: as in `backward_bound`; cotangent (*batch, H, n_q); truth: of these queries and keys, with the keys as values.
    Returns: bounds like query and key; inf at entries that a row without `exact` reaches.
    Source: derivations/error_budget.md (dS, dQ).
    """
    fmt = float_format(dtype, accumulate)
    with np.errstate(all="ignore"):
        rows = Rows((query, key, key), truth, mask, scale, fmt, None, merges)
        back = Backward(rows, truth, rows.group_heads(np.zeros_like(truth.out)))
        size = np.abs(np.asarray(cotangent, dtype=np.float64)).reshape(rows.rows)[..., None]
        back.ds = rows.hide(size * back.p)
        error = (1 + gamma(3, fmt.u)) * back.weight_error + gamma(3, fmt.u) * back.p + fmt.flush
        back.ds_error = rows.hide(size * error)
        back.lead_error = back.error_of_largest(size, back.p + back.weight_error, gamma(1, fmt.a))
        d_query, d_key = back.query_and_key()
        d_query = d_query.reshape(*rows.heads, rows.d) + np.where(back.judged, 0.0, np.inf).reshape(*rows.heads, 1)
        means = rows.scale * (back.ds @ rows.k).reshape(d_query.shape)
        sums = rows.scale * (back.ds.swapaxes(-1, -2) @ rows.q)
        return _last(d_query, means, 3, fmt, rows.scale), _last(d_key + back.unknown_keys(), sums, 3, fmt, rows.scale)


def backward_bound(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    cotangent: npt.ArrayLike,
    truth: Truth,
    gradients: Gradients,
    *,
    mask: npt.ArrayLike | None = None,
    scale: float | None = None,
    dtype: str,
    accumulate: str = "input",
    want_mask: bool = False,
    blocks: int | None = None,
    dead_rows: str | None = None,
    merges: str = "none",
    forward_bounds: ForwardBounds | None = None,
    slack: Array | None = None,
) -> BackwardBounds:
    """Largest distance of correct gradients of <out, cotangent> from the true ones.

    With R the relative error of a weight p: E_dV = (p R)^T |dO|, E_dS = p (R |dP - D| + (1 + R)(E_dP + E_D)),
    E_dQ = |scale| E_dS |K|, E_dK = |scale| E_dS^T |Q|, each with the roundings of its own sum.

    Args: as in `forward_bound`; cotangent like truth.out, rounded to dtype; gradients from
        `oracle.gradients` on the same call; want_mask: bound the float mask's gradient too. slack: how far the
        kernel's own cotangent may be from it, like truth.out, where rows without a key give zeros; None for 0.
    Returns: Bounds with query, key, value, mask (None unless wanted), exact, finite. Entries that a row
        without `exact` reaches are inf: only their finiteness can be judged, and only if `finite`.
    Raises: ValueError for an unknown accumulate.
    Example: backward_bound(q, k, v, c, truth, grads, dtype="float32").query has the shape of q.
    Source: derivations/error_budget.md (dV, dS, dQ).
    """
    fmt = float_format(dtype, accumulate)
    with np.errstate(all="ignore"):
        inside = None if forward_bounds is None else forward_bounds.inside
        rows = inside.rows if inside else Rows((query, key, value), truth, mask, scale, fmt, blocks, merges)
        full = np.broadcast_to(np.asarray(cotangent, dtype=np.float64), truth.out.shape)
        back = Backward(rows, truth, rows.group_heads(full), inside, slack)
        lost, unknown = np.where(back.judged, 0.0, np.inf), back.unknown_keys()
        d_value = back.value() + _dead_value(rows, _means(truth, dead_rows), back.cot)
        d_query, d_key = back.query_and_key()
        d_mask = None
        if want_mask and gradients.mask is not None:
            d_mask = _mask_bound(rows, back, lost, truth, gradients.mask)
        d_query = d_query.reshape(*rows.heads, rows.d) + lost.reshape(*rows.heads, 1)
        return BackwardBounds(
            query=_last(_sum_to(d_query, gradients.query.shape), gradients.query, 3, fmt, rows.scale),
            key=_last(_sum_to(d_key + unknown, gradients.key.shape), gradients.key, 3, fmt, rows.scale),
            value=_last(_sum_to(d_value + unknown, gradients.value.shape), gradients.value, 1, fmt),
            mask=d_mask,
            exact=back.judged.reshape(rows.heads),
            finite=(rows.finite | rows.dead).reshape(rows.heads),
        )
