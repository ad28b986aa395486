"""How far a correct merge of parts, each given as (out, lse), may be from the float64 truth.

A kernel that merges its own parts has the errors of these parts, too (`error_merge`); a function that is handed them
has only those of the merge. Tags in comments name steps of derivations/merged_parts.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attention_core.conformance.budgets.error_rows import ORACLE, float_format, gamma
from attention_core.conformance.budgets.rounding import UNIT_ROUNDOFF, Array


def lse_dtype(dtype: str) -> str:
    """The dtype in which the log-sum-exps of a kernel travel: float32 unless its inputs are wider.

    Example:
        >>> [lse_dtype(name) for name in ("bfloat16", "float32", "float64")]
        ['float32', 'float32', 'float64']
    """
    return "float64" if dtype == "float64" else "float32"


@dataclass(frozen=True)
class MergeBounds:
    """|result - truth| <= bound for a merge, entry by entry."""

    out: Array  # (*rows, d_v)
    lse: Array  # (*rows)
    shares: Array  # (parts, *rows) q_a = e^(lse_a - lse), 0 for an empty part
    off: Array  # (parts, *rows) by how much a share may be off, (given-factor) and (given-complement)


@dataclass(frozen=True)
class GivenErrors:
    """How far the parts that a call is handed may be off themselves: outs (parts, *rows, d_v), lses (parts, *rows)."""

    outs: Array
    lses: Array


def merge_bound(
    outs: Array, lses: Array, truth: tuple[Array, Array], *, dtype: str, accumulate: str, converts: bool = False,
    given: GivenErrors | None = None,
) -> MergeBounds:  # fmt: skip
    """Largest distance of a correct merge from the truth.

    With q_a the true shares, |out' - out| <= sum_a S_a |out_a| + u |out| and
    |lse' - lse| <= -log(1 - X) + w |lse|, where S_a is the error of a share and X that of the total.

    Args:
        outs, lses: the parts (parts, *rows, d_v) and (parts, *rows), lses in natural log; truth: (out, lse) of
            `oracle.merge` on them.
        dtype: of the outputs. accumulate: "float32" if products and sums stay in float32, else "input".
        converts: whether log-sum-exps are of another base, and may be converted on the way in and out.
        given: errors of the parts themselves, where they come from an earlier merge.
    Returns: MergeBounds. Raises: ValueError for an unknown accumulate.
    Source: derivations/merged_parts.md (given-factor, given-output).
    """
    f, parts, (out, lse) = float_format(dtype, accumulate), len(lses), truth
    w = UNIT_ROUNDOFF[lse_dtype(dtype)] + ORACLE
    live = np.asarray(lses > -np.inf)
    with np.errstate(invalid="ignore"):
        size = np.where(live, np.maximum(np.abs(lses), np.abs(lse)), 0.0)
        behind = np.where(live, np.maximum(lse - lses, 0.0), 0.0)
    q = np.where(live, np.exp(-behind), 0.0)
    known = np.zeros(lses.shape) if given is None else given.lses
    known = np.where(live, known + (2 * w * size if converts else 0.0), 0.0)
    total = (parts - 1) * (w * size + 14 * w) + known  # (given-total)
    share = w * behind + parts * (4 * f.w + 4 * f.a) + known  # (given-share)
    moved = (q * np.expm1(total)).sum(axis=0)
    factor = (np.expm1(share) + moved) / np.maximum(1 - moved, 1e-300)  # (given-factor)
    off = np.where(live, q * factor + 2 * parts * f.w, 0.0)  # (given-complement)
    error = (off[..., None] * np.where(live[..., None], np.abs(outs), 0.0)).sum(axis=0)
    if given is not None:
        error += ((q + off)[..., None] * given.outs).sum(axis=0)
    dead = np.asarray(~live.any(axis=0))
    error = (1 + f.u) * error + f.u * np.abs(out) + (parts + 2) * f.flush  # (given-output)
    height = np.where(dead, 0.0, np.abs(lse))
    stored = (3 if converts else 1) * w * height + f.flush
    total_off = stored - np.log1p(-np.minimum(moved, 1 - 1e-16))  # (given-lse)
    return MergeBounds(np.where(dead[..., None], 0.0, error), np.where(dead, 0.0, total_off), q, off)


def merge_gradient_bound(
    outs: Array, cotangent: Array, bounds: MergeBounds, gradients: tuple[Array, Array], dtype: str, *, of_lse: bool,
    converts: bool = False,
) -> tuple[Array, Array]:  # fmt: skip
    """Largest distance of correct gradients of <out, c>, or of <lse, c>, by the parts from the true ones.

    A share is off by S_a where a part is weighted and where all of them are: T_a = 2 S_a + S_a^2, and the roundings of
    its product. By an output, q_a c is off by T_a |c|; by a log-sum-exp, q_a (dP_a - D) with dP_a = <out_a, c> and
    D = sum_b q_b dP_b by T_a (P_a + R) + q_a sum_b T_b P_b and the roundings of sums, with P_a = sum_c |out_ac| |c_c|
    and R = sum_b (q_b + T_b) P_b.

    Args:
        outs: the parts; cotangent: of out (*rows, d_v), or of lse (*rows) where `of_lse`; bounds: of the same call.
        gradients: by outs and by lses, of `oracle.merge_gradients`; dtype: float32 or float64.
    converts: as in `merge_bound`; then a cotangent and each product with a constant are rounded.
    Returns: bounds like outs and like lses.
    Source: derivations/merged_parts.md (given-gradient).
    """
    f, q, d = float_format(dtype, "input"), bounds.shares, outs.shape[-1]
    live = bounds.off > 0
    T = np.where(live, (2 + bounds.off) * bounds.off + gamma(8, f.u) * q, 0.0)
    down = np.abs(cotangent)
    constants = (gamma(6, f.u) if converts else 0.0) * np.abs(gradients[1])
    if of_lse:
        return np.zeros(outs.shape), T * down + constants + 4 * f.flush
    P = (np.where(live[..., None], np.abs(outs), 0.0) * down).sum(axis=-1)
    R = ((q + T) * P).sum(axis=0)
    rounded = (q + T) * gamma(d + 2 * len(q) + 6, f.a) * (P + R)
    by_lse = T * (P + R) + q * (T * P).sum(axis=0) + rounded + constants
    by_out = T[..., None] * down + f.u * np.abs(gradients[0])
    return by_out + 4 * f.flush, by_lse + f.u * np.abs(gradients[1]) + (d + 4) * f.flush
