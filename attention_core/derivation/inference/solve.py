r"""Shapes as unknowns, and the equations among them.

A shape is a number or an array of rows and columns; each of these is an unknown that equations make equal to others.
What is contradictory is left out: the formula in question is then not read, and says so by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from attention_core.derivation.terms.terms import ONE, Size


class Extents:
    """Numbers of rows and columns: unknowns in classes, each with a size if it is known."""

    def __init__(self) -> None:
        self.parent: list[int] = []
        self.known: dict[int, Size] = {}
        self.by_size: dict[Size, int] = {}
        self.plural: set[int] = set()  # those that may not be one: the length of what is meant to be a vector

    def fresh(self) -> int:
        """A new unknown."""
        self.parent.append(len(self.parent))
        return len(self.parent) - 1

    def of(self, size: Size) -> int:
        """The extent that is this size."""
        if size not in self.by_size:
            self.by_size[size] = self.fresh()
            self.known[self.by_size[size]] = size
        return self.find(self.by_size[size])

    def find(self, one: int) -> int:
        """The representative of a class."""
        while self.parent[one] != one:
            one = self.parent[one]
        return one

    def size(self, one: int) -> Size | None:
        """The size of a class, if it is known."""
        return self.known.get(self.find(one))

    def join(self, left: int, right: int) -> bool:
        """Make two extents equal; False if they are known to differ."""
        left, right = self.find(left), self.find(right)
        if left == right:
            return True
        one, other = self.known.get(left), self.known.get(right)
        if one is not None and other is not None and one != other:
            return False
        if (one == ONE and right in self.plural) or (other == ONE and left in self.plural):
            return False
        if right in self.plural:
            self.plural.add(left)
        self.parent[right] = left
        if one is None and other is not None:
            self.known[left] = other
        return True


@dataclass
class Shape:
    """The shape of one expression: `kind` is "" (not known yet), "number" or "array"."""

    kind: str = ""
    rows: int = -1
    cols: int = -1
    same: Shape | None = None


Constraint = Callable[[], bool]  # True once nothing more can come of it


@dataclass
class Solver:
    """Shapes, and the constraints that are not used up."""

    extents: Extents = field(default_factory=Extents)
    waiting: list[Constraint] = field(default_factory=list)
    conflicts: int = 0

    def find(self, shape: Shape) -> Shape:
        """The shape that stands for all that are equal to this one."""
        while shape.same is not None:
            shape = shape.same
        return shape

    def number(self) -> Shape:
        """The shape of a number."""
        return Shape("number")

    def array(self, rows: int, cols: int) -> Shape:
        """The shape of an array."""
        return Shape("array", rows, cols)

    def is_number(self, shape: Shape) -> bool:
        """Whether a shape is known to be a number."""
        found = self.find(shape)
        if found.kind == "array":
            return self.extents.size(found.rows) == ONE and self.extents.size(found.cols) == ONE
        return found.kind == "number"

    def is_array(self, shape: Shape) -> bool:
        """Whether a shape is known to be an array with more than one entry."""
        return self.find(shape).kind == "array" and not self.is_number(shape)

    def equal(self, left: Shape, right: Shape) -> bool:
        """Make two shapes equal; False, and nothing is done, where they differ."""
        left, right = self.find(left), self.find(right)
        if left is right:
            return True
        if left.kind and right.kind:
            if self.is_number(left) or self.is_number(right):
                fits = self.is_number(left) and self.is_number(right)
            else:
                fits = self._join(left, right)
            self.conflicts += not fits
            return fits
        if right.kind:
            left, right = right, left
        right.same = left
        return True

    def _join(self, left: Shape, right: Shape) -> bool:
        rows = self.extents.join(left.rows, right.rows)
        return self.extents.join(left.cols, right.cols) and rows

    def set_array(self, shape: Shape, rows: int, cols: int) -> bool:
        """Make a shape an array of this many rows and columns."""
        return self.equal(self.array(rows, cols), shape)

    def propagate(self) -> None:
        """Use the constraints until none says anything new."""
        for _ in range(12):
            before = len(self.waiting)
            self.waiting = [one for one in self.waiting if not one()]
            if len(self.waiting) == before:
                return

    # -- constraints --------------------------------------------------------------------------------------------

    def length(self, vector: Shape, extent: int) -> Constraint:
        """A row or a column has this many entries."""

        def use() -> bool:
            found = self.find(vector)
            if found.kind == "array" and self.extents.size(found.cols) == ONE:
                self.extents.join(extent, found.rows)
            elif found.kind == "array" and self.extents.size(found.rows) == ONE:
                self.extents.join(extent, found.cols)
            else:
                return found.kind == "number"
            return True

        return use

    def product(self, left: Shape, right: Shape, out: Shape, dot: bool = False) -> Constraint:
        """`left right = out`; a dot between two columns is their inner product."""

        def use() -> bool:
            if self.is_number(left):
                return self.equal(right, out) or True
            if self.is_number(right):
                return self.equal(left, out) or True
            if not (self.is_array(left) and self.is_array(right)):
                return False
            a, b = self.find(left), self.find(right)
            one = self.extents.of(ONE)
            if dot and self.extents.size(a.cols) == ONE == self.extents.size(b.cols):
                self.extents.join(a.rows, b.rows)
                return self.equal(self.number(), out) or True
            if not self.extents.join(a.cols, b.rows):
                self.conflicts += 1
                return True
            single = self.extents.find(a.rows) == one == self.extents.find(b.cols)
            return self.equal(self.number() if single else self.array(a.rows, b.cols), out) or True

        return use

    def transpose(self, inner: Shape, out: Shape) -> Constraint:
        """`inner^T = out`."""

        def use() -> bool:
            for one, other in ((inner, out), (out, inner)):
                found = self.find(one)
                if self.is_number(found):
                    return self.equal(found, other) or True
                if found.kind == "array":
                    return self.set_array(other, found.cols, found.rows) or True
            return False

        return use

    def square(self, shape: Shape) -> Constraint:
        """An array with a power has as many rows as columns."""

        def use() -> bool:
            found = self.find(shape)
            if found.kind == "array":
                self.extents.join(found.rows, found.cols)
            return bool(found.kind)

        return use

    def slope(self, body: Shape, by: Shape, out: Shape) -> Constraint:
        """The derivative of a body by a variable."""

        def use() -> bool:
            if self.is_number(body):
                return self.equal(by, out) or True
            if self.is_number(by):
                return self.equal(body, out) or True
            if self.is_array(body) and self.is_array(by):
                a, b = self.find(body), self.find(by)
                if ONE == self.extents.size(a.cols) == self.extents.size(b.cols):
                    self.set_array(out, a.rows, b.rows)
                return True
            return False

        return use
