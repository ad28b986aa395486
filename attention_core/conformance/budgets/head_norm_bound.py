"""The norm of each head's output, and how far a correct one may be from the truth.

Tags in comments name steps of derivations/variants.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attention_core.conformance.budgets.error_rows import float_format, gamma
from attention_core.conformance.budgets.rounding import Array

NORMS = ("rms", "layer")
ROUNDINGS = 8
"""Of an entry: epsilon, a root, a quotient, the weight, the factor, and what is stored between them."""


@dataclass(frozen=True, eq=False)
class HeadNorm:
    """y = factor * weight * x / sqrt(mean x^2 + eps) over the features of each head; "layer" takes x less its mean.

    Args: kind: "rms" or "layer". weight: (d_v,). eps: added to the mean square. factor: 1 - lambda_init, or 1.
    """

    kind: str
    weight: Array
    eps: float
    factor: float = 1.0


def norm_heads(out: Array, norm: HeadNorm) -> Array:
    """The outputs (..., d_v) of heads, normalised.

    Example:
        >>> norm_heads(np.array([3.0, 4.0]), HeadNorm("rms", np.ones(2), 0.0, 0.5)).round(3).tolist()
        [0.424, 0.566]
    """
    centred = out - out.mean(-1, keepdims=True) if norm.kind == "layer" else out
    root = np.sqrt((centred**2).mean(-1, keepdims=True) + norm.eps)
    return np.asarray(norm.factor * norm.weight * (centred / root))


@dataclass(frozen=True, eq=False)
class NormalisedHeads:
    """Entries x / r before the weight, and how far a correct one may be from them.

    Args: entries, off: (..., d_v), x / r and the largest error of one. root, moved_root: (..., 1), r and the largest
        distance of the root of the computed outputs. rounded: (..., 1), the relative error of a root and a quotient.
    """

    entries: Array
    off: Array
    root: Array
    moved_root: Array
    rounded: Array


def normalise_with_errors(out: Array, bound: Array, norm: HeadNorm, *, dtype: str, accumulate: str) -> NormalisedHeads:
    """The entries of a norm of outputs, each within its own `bound`, with their errors.

    Source: derivations/variants.md (norm-size, norm-error, norm-most).
    Source: derivations/normalised_heads.md (mean-square, squared-mean).
    """
    fmt, n = float_format(dtype, accumulate), out.shape[-1]
    centred, error, relative = out, bound, gamma(n, fmt.a)
    square = ((np.abs(out) + bound) ** 2).mean(-1, keepdims=True)
    if norm.kind == "layer":
        centred, both = out - out.mean(-1, keepdims=True), np.abs(out) + bound
        lost = gamma(n + 1, fmt.a) * both.mean(-1, keepdims=True) + fmt.w * (both + both.mean(-1, keepdims=True))
        error, relative = bound + bound.mean(-1, keepdims=True) + lost, gamma(3 * n + 8, fmt.a)
    root = np.sqrt((centred**2).mean(-1, keepdims=True) + norm.eps)
    moved_root = np.sqrt((error**2).mean(-1, keepdims=True))  # (norm-size)
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = (error + np.abs(centred) * moved_root / root) / (root - moved_root)  # (norm-error)
        part = (relative * square + 2 * fmt.flush_between) / np.maximum(root - moved_root, 0.0) ** 2
    if norm.kind == "rms" and norm.eps > 0:  # squares do not cancel: a share of the root's own mean square
        part = np.minimum(part, relative + 2 * fmt.flush_between / norm.eps)
    most = 2 * np.sqrt(n)  # (norm-most), of the true and of the computed entry
    moved = np.where(root > moved_root, np.minimum(moved, most), most)
    rounded = np.where(part <= 0.5, part, np.inf) + gamma(ROUNDINGS, fmt.w)
    size = np.abs(centred / root)
    moved = np.minimum(moved + rounded * (size + moved), most * (1 + gamma(ROUNDINGS, fmt.w)))
    return NormalisedHeads(centred / root, moved, root, moved_root, rounded)


def head_norm_bound(out: Array, bound: Array, norm: HeadNorm, *, dtype: str, accumulate: str) -> Array:
    """Largest distance of a correct norm of outputs, each within its own `bound`, from the norm of the true ones.

    With r the true root and R the root mean square of the bounds, an entry moves by (E + |x| R / r) / (r - R) at most,
    and no entry is larger than sqrt(d_v).

    Args: out, bound: (..., d_v), true outputs and how far they may be off; norm: with an eps above 0.
    Returns: (..., d_v). Raises: ValueError for an unknown accumulate.
    Source: derivations/variants.md (norm-size, norm-error, norm-most).
    """
    fmt = float_format(dtype, accumulate)
    heads = normalise_with_errors(out, bound, norm, dtype=dtype, accumulate=accumulate)
    outer = np.abs(norm.factor * norm.weight)
    return np.asarray((1 + fmt.u) * outer * heads.off + fmt.u * outer * np.abs(heads.entries) + 2 * fmt.flush)
