"""Gradients of a projection in float64, and how far a correct one may be from them.

Tags in comments name steps of derivations/projected_heads.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attention_core.conformance.budgets.error_rows import gamma
from attention_core.conformance.budgets.rounding import FLUSH, UNIT_ROUNDOFF, Array

DTYPE = "float32"


@dataclass(frozen=True)
class Judged:
    """Numbers of a truth, and how far a correct result may be from each of them."""

    want: Array
    bound: Array

    def reshape(self, *shape: int) -> Judged:
        """The same numbers in another shape."""
        return Judged(self.want.reshape(shape), self.bound.reshape(shape))


def exact(values: Array) -> Judged:
    """Numbers without an error.

    Example:
        >>> float(exact(np.ones(2)).bound.max())
        0.0
    """
    return Judged(values, np.zeros_like(values))


def product_sum(y: Judged, x: Judged, count: int) -> Judged:
    """y x for matrices that may both be off, after the roundings of sums of `count` terms.

    Args:
        y, x: (..., m, k) and (..., k, n) with their errors.
        count: terms of a sum, at least k: those of others that are added to it count, too.
    Returns: The product, with the bound sum_k ((1 + g)(|y| + e)(|x| + f) - |y| |x|) + count phi, g = gamma_{count+3}.
    Source: derivations/projected_heads.md (product-sum).
    """
    g = gamma(count + 3, UNIT_ROUNDOFF[DTYPE])  # (terms)
    size, other = np.abs(y.want), np.abs(x.want)
    with np.errstate(all="ignore"):
        # Written out, since the difference of the two products would cancel.
        off = y.bound @ (other + x.bound) + size @ x.bound
        whole = (1 + g) * off + g * (size @ other) + count * FLUSH[DTYPE]
    return Judged(y.want @ x.want, np.where(np.isnan(whole), np.inf, whole))  # 0 times an error that is not known


def weight_gradient(cotangent: Judged, x: Judged) -> Judged:
    """C^T x for a projection's weight, from (..., n, b) and (..., n, a).

    Source: derivations/projected_heads.md (d-weight).
    """
    flat = cotangent.reshape(-1, cotangent.want.shape[-1])
    turned = Judged(flat.want.T, flat.bound.T)
    return product_sum(turned, x.reshape(-1, x.want.shape[-1]), len(flat.want))


def bias_gradient(cotangent: Judged) -> Judged:
    """The sum of a cotangent's rows (..., n, b), for a projection's bias: the weight of an input of ones."""
    ones = np.ones((*cotangent.want.shape[:-1], 1))
    return weight_gradient(cotangent, exact(ones)).reshape(-1)


def input_gradient(cotangents: list[Judged], weights: list[Array]) -> Judged:
    """The sum of C W over the projections that read an input, from (..., n, b) and (b, a) of each.

    Source: derivations/projected_heads.md (d-input).
    """
    count = sum(len(weight) for weight in weights) + len(weights)
    parts = [product_sum(c, exact(weight), count) for c, weight in zip(cotangents, weights, strict=True)]
    return Judged(np.sum([p.want for p in parts], axis=0), np.sum([p.bound for p in parts], axis=0))
