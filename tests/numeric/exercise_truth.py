"""What the tests of the exercises share: the worked example, exact frames, a rounding bound, exact sums.

Nothing here knows how attention is computed in floating point; `decimal_attention` is the truth for single
cases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext

import torch
from jaxtyping import Float
from torch import Tensor

from attention_core.kernels.dot_product import dot_product_attention

UNIT = 2.0**-53  # the unit roundoff of float64

# The worked example: four keys and values of three coordinates, as printed (decimals, so that the truth is
# exact).
KEY_TEXT = (
    ("0.47", "0.65", "0.60"),
    ("0.64", "0.50", "-0.59"),
    ("-0.03", "-0.48", "-0.88"),
    ("0.43", "-0.83", "0.35"),
)
VALUE_TEXT = (
    ("-0.07", "-0.88", "0.47"),
    ("0.37", "-0.93", "-0.07"),
    ("-0.25", "-0.75", "0.61"),
    ("0.94", "0.20", "0.28"),
)
Vector = list[Decimal]
Matrix = list[list[Decimal]]


def decimals(rows: Sequence[Sequence[str]]) -> Matrix:
    """Return the printed numbers as decimals, without a rounding."""
    return [[Decimal(entry) for entry in row] for row in rows]


def tensor(rows: Sequence[Sequence[Decimal | str]]) -> Float[Tensor, "rows columns"]:
    """Return the float64 tensor nearest to exact rows."""
    return torch.tensor([[float(entry) for entry in row] for row in rows], dtype=torch.float64)


def decimal_dot(left: Sequence[Decimal], right: Sequence[Decimal]) -> Decimal:
    """Return the inner product in the precision of the context."""
    return sum((a * b for a, b in zip(left, right, strict=True)), Decimal(0))


def decimal_attention(query: Vector, key: Matrix, value: Matrix) -> tuple[Vector, Vector]:
    """Return the output and the weights of one unscaled query, to far more digits than float64 holds."""
    with localcontext() as context:
        context.prec = 80
        scores = [decimal_dot(query, row) for row in key]
        terms = [(score - max(scores)).exp() for score in scores]
        weights = [term / sum(terms) for term in terms]
        output = [decimal_dot(weights, column) for column in zip(*value, strict=True)]
    return output, weights


def largest_error(output: Sequence[Decimal], target: Sequence[Decimal]) -> Decimal:
    """Return max_i |output_i - target_i|: the error that reproduces the figures of the example."""
    return max(abs(a - b) for a, b in zip(output, target, strict=True))


def gamma(terms: int) -> float:
    """Return n u / (1 - n u): the relative error that n roundings of float64 can reach."""
    return terms * UNIT / (1 - terms * UNIT)


def rounding_bound(
    query: Float[Tensor, "*batch n_q d"],
    key: Float[Tensor, "*batch n_kv d"],
    value: Float[Tensor, "*batch n_kv d_v"],
    scale: float = 1.0,
) -> float:
    """Bound |computed - exact| for every entry of softmax(scale q k^T) v in float64, all orders included.

    A score is off by at most delta = gamma(d + 4) |scale| sum|q_c k_c|, subtraction of the maximum and the
    exponential add 2u(|s| + |m|) + 4u to it, so each weight is off by a factor within e^{2 delta}; the sums
    over n keys, of the normaliser and of the output, add gamma(2n + 8). The output is then off by that
    factor less 1, times sum_j p_j |v_j| <= max|v|.
    """
    d, n_kv = query.shape[-1], key.shape[-2]
    magnitude = abs(scale) * float((query.abs() @ key.abs().transpose(-1, -2)).max())
    delta = gamma(d + 4) * magnitude + 4 * UNIT * magnitude + 4 * UNIT
    return (math.exp(2 * delta) * (1 + gamma(2 * n_kv + 8)) - 1) * float(value.abs().max())


def attend(
    query: Float[Tensor, "*batch n_q d"],
    key: Float[Tensor, "*batch n_kv d"],
    value: Float[Tensor, "*batch n_kv d_v"],
    scale: float | None = 1.0,
) -> tuple[Float[Tensor, "*batch n_q d_v"], Float[Tensor, "*batch n_q n_kv"]]:
    """Return output and weights of one head (unscaled unless told), with a head axis put in and taken out."""
    output, weights = dot_product_attention(
        query.unsqueeze(-3), key.unsqueeze(-3), value.unsqueeze(-3), scale=scale, return_weights=True
    )
    return output.squeeze(-3), weights.squeeze(-3)


def orthonormal_rows(size: int) -> Float[Tensor, "size size"]:
    """Return Hadamard rows over sqrt(size), orthonormal without a rounding; size is a power of four."""
    if size < 1 or math.log2(size) % 2:
        raise ValueError(f"size must be a power of four, for entries that are powers of two; got {size}")
    rows = torch.ones(1, 1, dtype=torch.float64)
    block = torch.tensor([[1.0, 1.0], [1.0, -1.0]], dtype=torch.float64)
    while rows.shape[0] < size:
        rows = torch.kron(rows, block)
    return rows / math.isqrt(size)
