"""Gradients of the norm of each head's output, and how far correct ones may be from them.

Tags in comments name steps of derivations/variants.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attention_core.conformance.budgets.error_rows import float_format, gamma
from attention_core.conformance.budgets.head_norm_bound import HeadNorm, normalise_with_errors
from attention_core.conformance.budgets.rounding import Array

ROUNDINGS = 12
"""Of a term: the weight, the factor and the cotangent's product; the entry; the mean; the projection; the quotient."""


@dataclass(frozen=True, eq=False)
class NormGradients:
    """Gradients of <norm(out), down>, each with the largest error of a correct one.

    Args: out, out_off: by the outputs (..., d_v). weight, weight_off: by the norm's weight (d_v,).
    """

    out: Array
    out_off: Array
    weight: Array
    weight_off: Array


def norm_gradients(
    out: Array, bound: Array, down: Array, norm: HeadNorm, *, dtype: str, accumulate: str
) -> NormGradients:  # fmt: skip
    """Gradients of <norm(out), down> by the outputs and by the norm's weight, with their budgets.

    With u = factor weight down, z = x / r and n features, d out = (u - z mean(u z)) / r; of "layer" less its mean;
    d weight = sum of factor down z over all rows and heads.

    Args: out, bound: (..., d_v), true outputs and how far they may be off; down: the cotangent of the norm.
    Raises: ValueError for an unknown accumulate.
    Source: derivations/variants.md (norm-gradient, norm-centred, norm-inverse, slope-product).

    Example:
        >>> x = np.array([[[[3.0, 4.0]]]])
        >>> found = norm_gradients(x, 0 * x, x, HeadNorm("rms", np.ones(2), 0.0), dtype="float64", accumulate="float32")
        >>> bool(np.abs(found.out).max() < 1e-12), found.weight.round(2).tolist()
        (True, [2.55, 4.53])
    """
    fmt, n = float_format(dtype, accumulate), out.shape[-1]
    heads = normalise_with_errors(out, bound, norm, dtype=dtype, accumulate=accumulate)
    z, off, root = heads.entries, heads.off, heads.root
    u, wide = norm.factor * norm.weight * down, np.abs(z) + off
    mean = (u * z).mean(-1, keepdims=True)
    most = (np.abs(u) * wide).mean(-1, keepdims=True)  # the largest that a computed mean, or a part of it, may be
    mean_off = (np.abs(u) * off).mean(-1, keepdims=True)
    inner, inner_off = u - z * mean, np.abs(z) * mean_off + off * (np.abs(mean) + mean_off)  # (slope-product)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse_off = heads.moved_root / root / (root - heads.moved_root)  # (norm-inverse)
    largest = 1 / np.sqrt(norm.eps) if norm.eps > 0 else np.inf
    inverse_off = np.where(root > heads.moved_root, np.minimum(inverse_off, largest), largest)
    inverse = 1 / root + inverse_off
    exact, error = inner / root, inner_off * inverse + np.abs(inner) * inverse_off  # (slope-product)
    size = (np.abs(u) + wide * most) * inverse
    if norm.kind == "layer":  # (norm-centred)
        exact, error, size = (
            exact - exact.mean(-1, keepdims=True), *(x + x.mean(-1, keepdims=True) for x in (error, size))
        )  # fmt: skip
    rounding = gamma(2 * n, fmt.a) + gamma(ROUNDINGS, fmt.w) + 2 * heads.rounded
    error = error + (rounding * (1 + rounding) + fmt.u * (1 + rounding)) * size + 4 * fmt.flush * (1 + inverse)
    error = np.where(np.isnan(error), np.inf, error)  # nothing is known of such a row
    terms, rows, axes = norm.factor * down * z, out[..., 0].size, tuple(range(out.ndim - 1))
    moved = (np.abs(norm.factor * down) * off).sum(axes)
    reach = (np.abs(norm.factor * down) * wide).sum(axes)
    total = terms.sum(axes)
    weight_off = moved + (gamma(rows, fmt.a) + gamma(4, fmt.w)) * reach
    weight_off = (1 + fmt.u) * weight_off + fmt.u * np.abs(total) + 2 * fmt.flush
    return NormGradients(np.asarray(exact), np.asarray(error), np.asarray(total), np.asarray(weight_off))
