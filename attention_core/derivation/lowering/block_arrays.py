"""Arrays given by blocks.

Arrays of any size that are known block by block: one number in each block, and a multiple of the identity where a
block is square. Sums, products and transposes of such arrays are such arrays, whatever their sizes are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import fmpq

Value = Any  # fmpq or arb
Table = tuple[tuple[Value, ...], ...]
ZERO = fmpq(0)


class Unsupported(Exception):
    """The operation on an array cannot be expressed by its blocks."""


@dataclass(frozen=True)
class Blocks:
    """`rows` and `cols` are the lengths of the blocks; a block is `flat` in every entry, plus `diagonal` times I."""

    rows: tuple[int, ...]
    cols: tuple[int, ...]
    flat: Table
    diagonal: Table

    @cached_property
    def content(self) -> Any:
        """What distinguishes arrays of one shape: the one number in all entries, or the blocks."""
        first = self.flat[0][0]
        alike = all(v == first for row in self.flat for v in row) and not any(
            v != ZERO for r in self.diagonal for v in r
        )
        return first if alike else (self.rows, self.cols, self.flat, self.diagonal)

    @property
    def transpose(self) -> Blocks:
        """The transpose."""
        return Blocks(
            self.cols, self.rows, tuple(zip(*self.flat, strict=True)), tuple(zip(*self.diagonal, strict=True))
        )

    def entrywise(self, function: Callable[[Value], Value]) -> Blocks:
        """A function of every entry, where no block has a diagonal of its own."""
        self.require_flat()
        flat = tuple(tuple(function(v) for v in row) for row in self.flat)
        return Blocks(self.rows, self.cols, flat, self.diagonal)

    def require_flat(self) -> None:
        """Raise `Unsupported` where a block has a diagonal of its own."""
        if any(v != ZERO for row in self.diagonal for v in row):
            raise Unsupported

    def scale(self, factor: Value) -> Blocks:
        """A multiple."""
        return self.combine(self, lambda a, _: a * factor)

    def combine(self, other: Blocks, combine: Callable[[Value, Value], Value]) -> Blocks:
        """Two arrays with the same blocks, combined by a linear operation."""
        if (self.rows, self.cols) != (other.rows, other.cols):
            raise Unsupported

        def table(one: Table, two: Table) -> Table:
            return tuple(tuple(combine(a, b) for a, b in zip(p, q, strict=True)) for p, q in zip(one, two, strict=True))

        flat, diagonal = table(self.flat, other.flat), table(self.diagonal, other.diagonal)
        return Blocks(self.rows, self.cols, flat, diagonal)

    def times(self, other: Blocks) -> Blocks:
        """The matrix product."""
        if self.cols != other.rows:
            raise Unsupported
        inner, flat, diagonal = range(len(self.cols)), [], []
        for r in range(len(self.rows)):
            line, own = [], []
            for c in range(len(other.cols)):
                total, identity = ZERO, ZERO
                for k in inner:
                    a, d, b, e = self.flat[r][k], self.diagonal[r][k], other.flat[k][c], other.diagonal[k][c]
                    total = total + a * b * fmpq(self.cols[k]) + a * e + d * b
                    identity = identity + d * e
                line.append(total)
                own.append(identity)
            flat.append(tuple(line))
            diagonal.append(tuple(own))
        return Blocks(self.rows, other.cols, tuple(flat), tuple(diagonal))

    def groups(self) -> list[tuple[int, Value]]:
        """How often each entry occurs, with what it is."""
        found: list[tuple[int, Value]] = []
        for r, height in enumerate(self.rows):
            for c, width in enumerate(self.cols):
                own, count = self.diagonal[r][c], height * width
                if own != ZERO:
                    found.append((height, self.flat[r][c] + own))
                    count -= height
                if count:
                    found.append((count, self.flat[r][c]))
        return found

    def trace(self) -> list[tuple[int, Value]]:
        """The same for the diagonal of a square array."""
        if self.rows != self.cols:
            raise Unsupported
        return [(n, self.flat[k][k] + self.diagonal[k][k]) for k, n in enumerate(self.rows)]


def blocks_of(rows: tuple[int, ...], cols: tuple[int, ...], at: Callable[[int, int], Value]) -> Blocks:
    """An array with a number in each block, given by the block's place."""
    flat = tuple(tuple(at(r, c) for c in range(len(cols))) for r in range(len(rows)))
    return Blocks(rows, cols, flat, tuple(tuple(ZERO for _ in cols) for _ in rows))


def identity(cuts: tuple[int, ...], factor: Value) -> Blocks:
    """A multiple of the identity."""
    plain = blocks_of(cuts, cuts, lambda r, c: factor if r == c and cuts[r] == 1 else ZERO)
    own = tuple(tuple(factor if r == c and n > 1 else ZERO for c in range(len(cuts))) for r, n in enumerate(cuts))
    return Blocks(cuts, cuts, plain.flat, own)


__all__ = ["Blocks", "Unsupported", "blocks_of", "identity"]
