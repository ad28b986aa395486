r"""Gram conditions on vectors of leaves.

Hypotheses about inner products, recognised by their form: A^T A = I, A^T B = 0, k_i^T k_j = 0, \|k\| = c, k^T k = c.
They are constructed with frames; everything else is left to linear equations and intervals.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from attention_core.derivation.graph.nodes import Graph
from attention_core.derivation.lowering.lower import Cells, Infeasible, Lowering
from attention_core.derivation.terms.terms import Relation, Term

Vector = tuple[int, ...]  # the nodes of its entries


@dataclass
class Gram:
    """Which vectors are orthogonal, and which have a given length: (node, whether it is the square)."""

    pairs: set[frozenset[Vector]] = field(default_factory=set)
    lengths: dict[Vector, tuple[int, bool]] = field(default_factory=dict)
    order: list[Vector] = field(default_factory=list)

    def note(self, vector: Vector) -> None:
        """Remember a vector in the order of its appearance."""
        if vector not in self.order:
            self.order.append(vector)

    def orthogonal(self, left: Vector, right: Vector) -> bool:
        """Whether two vectors were declared orthogonal."""
        return frozenset((left, right)) in self.pairs

    def leaves(self) -> set[int]:
        """All entries of all vectors here."""
        return {node for vector in self.order for node in vector}

    def groups(self) -> list[list[Vector]]:
        """Vectors that hang together."""
        left = list(self.order)
        out: list[list[Vector]] = []
        while left:
            group, stack = [], [left[0]]
            while stack:
                vector = stack.pop()
                if vector in left:
                    left.remove(vector)
                    group.append(vector)
                    stack += [v for v in left if self.orthogonal(v, vector)]
            out.append(sorted(group, key=lambda v: (v not in self.lengths, self.order.index(v))))
        return out

    def collect_frame(self, group: list[Vector]) -> list[Vector]:
        """The vectors of given length that are all orthogonal to each other: columns of one orthogonal matrix."""
        chosen: list[Vector] = []
        for vector in group:
            if vector in self.lengths and all(self.orthogonal(vector, other) for other in chosen):
                chosen.append(vector)
        return chosen

    def require_room(self) -> None:
        """No more orthogonal vectors of given length than dimensions."""
        for group in self.groups():
            framed = self.collect_frame(group)
            if len(framed) > len(group[0]):
                raise Infeasible(f"{len(framed)} orthogonal vectors of given length in {len(group[0])} dimensions")

    def length_leaves(self, graph: Graph, vector: Vector) -> Iterable[int]:
        """The leaves that the length of a vector depends on."""
        length = self.lengths.get(vector)
        return [] if length is None else graph.leaves([length[0]])


def gram_of(gram: Gram, low: Lowering, relation: Relation, env: dict[str, int]) -> bool:
    """Take a hypothesis in if it is a Gram condition."""
    if relation.op != "=":
        return False
    return _fix_side(gram, low, relation.left, relation.right, env) or _fix_side(
        gram, low, relation.right, relation.left, env
    )


def _fix_side(gram: Gram, low: Lowering, product: Term, value: Term, env: dict[str, int]) -> bool:
    if product.op == "norm":
        vector = _vectors(low, product.args[0], env)
        if vector is None or len(vector) != 1:
            return False
        return _fix_length(gram, low, vector[0], low.number(value, env), False)
    if (
        product.op == "pow"
        and product.args[0].op == "norm"
        and product.args[1].op == "const"
        and product.args[1].data == 2
    ):
        vector = _vectors(low, product.args[0].args[0], env)
        if vector is None or len(vector) != 1:
            return False
        return _fix_length(gram, low, vector[0], low.number(value, env), True)
    if product.op != "matmul":
        return False
    first, second = product.args
    left, right = _factor(low, first, env, True), _factor(low, second, env, False)
    if left is None or right is None:
        return False
    return _table(gram, low, left, right, low.lower(value, env))


def _fix_length(gram: Gram, low: Lowering, vector: Vector, node: int, squared: bool) -> bool:
    if set(low.graph.leaves([node])) & set(vector):
        return False
    gram.note(vector)
    gram.lengths.setdefault(vector, (node, squared))
    return True


def _factor(low: Lowering, term: Term, env: dict[str, int], left: bool) -> list[Vector] | None:
    """The vectors whose inner products a factor forms: the rows of a left factor, the columns of a right one."""
    if left:
        if term.op == "transpose":
            return _vectors(low, term.args[0], env)
        return _vectors(low, term, env, rows=True)
    if term.op == "transpose":
        return _vectors(low, term.args[0], env, rows=True)
    return _vectors(low, term, env)


def _vectors(low: Lowering, term: Term, env: dict[str, int], rows: bool = False) -> list[Vector] | None:
    """The columns (or rows) of a declared array or family member."""
    if term.op not in ("leaf", "member"):
        return None
    cells: Cells = low.lower(term, env)
    if term.type.vector and term.op in ("leaf", "member") and not rows and cells.rows == 1 and not term.type.column:
        return [cells.cells]  # the norm of a row
    if rows:
        return [tuple(cells.at(i, j) for j in range(cells.cols)) for i in range(cells.rows)]
    return [tuple(cells.at(i, j) for i in range(cells.rows)) for j in range(cells.cols)]


def _table(gram: Gram, low: Lowering, left: list[Vector], right: list[Vector], value: Cells) -> bool:
    zero = low.graph.zero
    if (value.rows, value.cols) != (len(left), len(right)) or len({len(v) for v in (*left, *right)}) > 1:
        return False  # an outer product is not a table of inner products
    found: list[tuple[Vector, Vector, int]] = []
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            node = value.at(i, j)
            if a != b and node != zero:
                return False
            if a == b and (set(low.graph.leaves([node])) & set(a)):
                return False
            if a != b and set(a) & set(b):
                return False
            found.append((a, b, node))
    for a, b, node in found:
        gram.note(a)
        gram.note(b)
        if a == b:
            gram.lengths.setdefault(a, (node, True))
        else:
            gram.pairs.add(frozenset((a, b)))
    return True
