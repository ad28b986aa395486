"""Exact orthogonal vectors.

Vectors with given inner products: rational orthonormal frames, orthogonal families, given lengths.
A frame is a signed permutation times a Cayley transform: rotations alone would miss determinant -1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb, fmpq, fmpq_mat

from attention_core.derivation.graph.choices import Choices

Vector = list[fmpq]


def orthogonal_matrix(d: int, choices: Choices) -> list[Vector]:
    """The columns of a rational orthogonal matrix: P (I - S)(I + S)^-1, S antisymmetric, P a signed permutation."""
    entries = [[fmpq(0)] * d for _ in range(d)]
    plain = choices.draw(3) == 0
    if not plain:
        for i in range(d):
            for j in range(i):
                value = (fmpq(0), fmpq(1), fmpq(1, 2), fmpq(-1), fmpq(2), fmpq(-1, 3))[choices.draw(6)]
                entries[i][j], entries[j][i] = value, -value
    skew = fmpq_mat(d, d, [v for row in entries for v in row])
    eye = fmpq_mat(d, d, [fmpq(int(i == j)) for i in range(d) for j in range(d)])
    turned = (eye - skew) * (eye + skew).inv()
    order = list(range(d))
    for i in range(d):
        k = i + choices.draw(d - i)
        order[i], order[k] = order[k], order[i]
    signs = [fmpq(1 - 2 * choices.draw(2)) for _ in range(d)]
    return [[signs[i] * turned[order[i], j] for i in range(d)] for j in range(d)]


def project(vector: Vector, onto: Sequence[Vector]) -> Vector:
    """The part of a vector that is orthogonal to others (any others)."""
    result = list(vector)
    basis: list[Vector] = []
    for other in onto:
        rest = list(other)
        for b in basis:
            rest = _less(rest, b)
        if any(rest):
            basis.append(rest)
    for b in basis:
        result = _less(result, b)
    return result


def _less(vector: Vector, direction: Vector) -> Vector:
    share = dot(vector, direction) / dot(direction, direction)
    return [x - share * y for x, y in zip(vector, direction, strict=True)]


def dot(left: Vector, right: Vector) -> fmpq:
    """The inner product."""
    return sum((x * y for x, y in zip(left, right, strict=True)), fmpq(0))


def scale_to_length(direction: Vector, square: Any) -> list[Any]:
    """The direction at the length whose square is given: rational where it can be, else enclosed by balls on demand."""
    from attention_core.derivation.graph.nodes import square_root

    have = dot(direction, direction)
    if isinstance(square, fmpq):
        factor = square_root(square / have)
        if factor is not None:
            return [factor * x for x in direction]
        return [_surd(x, square / have) for x in direction]
    return [_ball(x, square, have) for x in direction]


@dataclass(frozen=True)
class Surd:
    """The number factor * sqrt(square); called, it is a ball at the precision of the moment."""

    factor: fmpq
    square: fmpq

    def __call__(self) -> arb:
        return arb(self.factor) * arb(self.square).sqrt()


def _surd(x: fmpq, square: fmpq) -> Any:
    return x if x == 0 else Surd(x, square)


def _ball(x: fmpq, square: Callable[[], arb], have: fmpq) -> Any:
    def value() -> arb:
        return arb(x) * (square() / arb(have)).sqrt()

    return value
