r"""Plans: the hypotheses at one tuple of sizes.

How cases are made at given sizes: which entries there are, which of them follow from others or are held by Gram
conditions, and the constraints that the hypotheses put on the rest.

Gram conditions are recognised by their form: A^T A = I, A^T B = 0, k_i^T k_j = 0, \|k\| = c, k^T k = c.
They are constructed with frames; everything else is left to linear equations and intervals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from flint import fmpq

from attention_core.derivation.algebra.normal import Facts
from attention_core.derivation.graph.choices import MODES
from attention_core.derivation.graph.nodes import Graph, Key, TooLarge
from attention_core.derivation.lowering.lower import Cells, Infeasible, Lowering
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.terms import Relation, Term

Vector = tuple[int, ...]  # the nodes of its entries
Ends = tuple[fmpq | None, fmpq | None, bool, bool]  # of an interval, and whether they lie outside


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
        return [cells.cells[i * cells.cols : (i + 1) * cells.cols] for i in range(cells.rows)]
    return [cells.cells[j :: cells.cols] for j in range(cells.cols)]


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


LONGEST = 400  # members of a family


@dataclass(frozen=True)
class Constraint:
    """`difference op 0` among nodes; `leaves` are the leaves it mentions, `order` how it is evaluated."""

    difference: int
    op: str
    leaves: frozenset[int]
    order: tuple[int, ...]
    left: int = -1
    right: int = -1


@dataclass
class CasePlan:
    """How cases are made at one tuple of sizes and indices."""

    low: Lowering
    symbols: list[Symbol]
    constraints: list[Constraint] = field(default_factory=list)
    gram: Gram = field(default_factory=Gram)
    entries: dict[int, tuple[Symbol, Key]] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    assigned: dict[int, int] = field(default_factory=dict)
    checks: list[Constraint] = field(default_factory=list)
    modes: tuple[str, ...] = MODES  # how entries are drawn
    different: list[Constraint] | None = None
    mentions: dict[int, list[Constraint]] | None = None  # the constraints of each leaf, once all are known
    ends: dict[str, Ends] = field(default_factory=dict)  # of the intervals of symbols, where they depend on no entry

    def constraints_on(self, leaf: int) -> list[Constraint]:
        """The constraints that mention a leaf."""
        if self.mentions is None:
            self.mentions = {}
            for c in self.constraints:
                for node in c.leaves:
                    self.mentions.setdefault(node, []).append(c)
        return self.mentions.get(leaf, [])

    def distinct(self) -> list[Constraint]:
        """All constraints and checks, each once: k_i^T k_j and k_j^T k_i are one number."""
        if self.different is None:
            self.different = list({(c.difference, c.op): c for c in (*self.constraints, *self.checks)}.values())
        return self.different

    def collect_facts(self) -> Facts:
        """What normal forms may use: declared signs, assignments, and the equations among the hypotheses."""
        graph = self.low.graph
        found = set()
        for node, (symbol, _) in self.entries.items():
            if symbol.lower is not None and symbol.lower[0].op == "const" and symbol.lower[0].data >= 0:
                found.add(node)
        for c in self.constraints:
            value = graph.value(c.left)
            if c.op in ("<", "<=") and value is not None and value >= 0 and graph.ops[c.right] == "leaf":
                found.add(c.right)
        zeros = [c.difference for c in (*self.constraints, *self.checks) if c.op == "="]
        two = graph.const(fmpq(2))
        for vector, (node, squared) in self.gram.lengths.items():
            total = graph.add(graph.power(entry, two) for entry in vector)
            zeros.append(graph.sub(total, node if squared else graph.power(node, two)))
        return Facts(frozenset(found), dict(self.assigned), tuple(zeros))


def instances(low: Lowering, relation: Relation) -> list[dict[str, int]]:
    """The index values for which a hypothesis is stated."""
    found: list[dict[str, int]] = [dict(low.top)]
    for name, first, last in relation.over:
        found = [{**env, name: v} for env in found for v in range(low.whole(first, env), low.whole(last, env) + 1)]
    return [env for env in found if all(low.holds(test, env) for test in relation.where)]


def plan(context: Context, low: Lowering, symbols: list[Symbol], hypotheses: Sequence[Relation]) -> CasePlan:
    """Lower the hypotheses at these sizes and decide how each leaf is drawn; raises `Infeasible`."""
    made = CasePlan(low, symbols)
    for symbol in symbols:
        for key in _keys(low, symbol):
            node = low.graph.leaf(key)
            made.entries[node] = (symbol, key)
            made.order.append(node)
    for relation in hypotheses:
        for env in instances(low, relation):
            if gram_of(made.gram, low, relation, env):
                left, right = low.lower(relation.left, env), low.lower(relation.right, env)
                made.checks += [
                    _constraint(low, a, relation.op, b) for a, b in zip(left.cells, right.cells, strict=True)
                ]
                continue
            left, right = low.lower(relation.left, env), low.lower(relation.right, env)
            for a, b in zip(left.cells, right.cells, strict=True):
                _split(made, low, a, relation.op, b)
    made.gram.require_room()
    _assign(made)
    return made


def _keys(low: Lowering, symbol: Symbol) -> list[Key]:
    assert symbol.type is not None
    rows, cols = low.shape(symbol.type)
    members: list[tuple[int, ...]] = [()]
    if symbol.kind == "family":
        first, last = low.span(symbol)
        if first.denominator != 1 or last.denominator != 1:
            raise Infeasible("a family of that length")
        if last - first > LONGEST:
            raise TooLarge(f"a family of more than {LONGEST} members")
        members = [(v,) for v in range(int(first), int(last) + 1)]
    return [(symbol.name, (*m, i + 1, j + 1)) for m in members for i in range(rows) for j in range(cols)]


def _constraint(low: Lowering, left: int, op: str, right: int) -> Constraint:
    difference = low.graph.sub(left, right)
    if difference not in low.orders:
        below = tuple(low.graph.reachable([difference]))
        low.orders[difference] = below, frozenset(n for n in below if low.graph.ops[n] == "leaf")
    order, leaves = low.orders[difference]
    return Constraint(difference, op, leaves, order, left, right)


def _split(made: CasePlan, low: Lowering, left: int, op: str, right: int) -> None:
    """Constraints on magnitudes and maxima become several without them, so that they are linear."""
    graph = low.graph
    if op in (">", ">="):
        left, right, op = right, left, {">": "<", ">=": "<="}[op]
    if op in ("<", "<=") and graph.ops[left] == "abs":
        inner = graph.args[left][0]
        made.constraints += [_constraint(low, inner, op, right), _constraint(low, graph.neg(inner), op, right)]
    elif op in ("<", "<=") and graph.ops[left] == "max":
        for part in graph.args[left]:
            _split(made, low, part, op, right)
        return
    elif op in ("<", "<=") and graph.ops[right] == "min":
        for part in graph.args[right]:
            _split(made, low, left, op, part)
        return
    else:
        made.constraints.append(_constraint(low, left, op, right))


def _assign(made: CasePlan) -> None:
    """`x = expression` makes x follow from the others, as long as that goes round in no circle."""
    graph = made.low.graph
    pinned = set(made.gram.leaves())
    for c in made.constraints:
        if c.op != "=":
            continue
        for target, source in ((c.left, c.right), (c.right, c.left)):
            if (
                graph.ops[target] == "leaf"
                and target in made.entries
                and target not in pinned
                and target not in made.assigned
            ):
                below = set(graph.leaves([source]))
                if target in below or any(_follows(made, b, target) for b in below):
                    continue
                made.assigned[target] = source
                break


def _follows(made: CasePlan, node: int, target: int) -> bool:
    source = made.assigned.get(node)
    if source is None:
        return False
    below = made.low.graph.leaves([source])
    return target in below or any(_follows(made, b, target) for b in below)
