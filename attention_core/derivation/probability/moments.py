"""The moment engine.

Expectations with closed forms: what is averaged becomes a sum of products of random entries and of functions of them.
Products of independent things factor; independence must be written, it is never assumed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from attention_core.derivation.graph.bounds import bounds
from attention_core.derivation.graph.nodes import Graph, Key, TooLarge, Unsettled
from attention_core.derivation.probability.distributions import RandomArray, drawn_of
from attention_core.derivation.terms.context import Distribution

if TYPE_CHECKING:
    from attention_core.derivation.lowering.lower import Lowering

MAX_MONOMIALS = 20_000
MAX_POWER = 24
Monomial = tuple[tuple[int, int], ...]  # (random leaf or function of random leaves, power), sorted
Group = tuple[str, int]  # a random symbol and the member of a family, 0 without
ClosedForm: TypeAlias = "Callable[[Moments, set[Group], Monomial], int]"


class NotPolynomial(Unsettled):
    """What is averaged has no closed form here."""


class DependenceUnsaid(Unsettled):
    """Two random symbols meet that are not declared independent."""


class Moments:
    """Expectations of nodes over the random leaves of one expression.

    `closed_form` takes the expectation of a product that cannot be taken apart, over the groups it is about.
    """

    def __init__(self, low: Lowering, random: set[int], closed_form: ClosedForm) -> None:
        self.low, self.graph, self.random, self.closed_form = low, low.graph, random, closed_form
        self.expanded: dict[int, dict[Monomial, int]] = {}
        self.known: dict[Monomial, int] = {(): self.graph.one}
        self.drawn: dict[Group, RandomArray] = {}
        for leaf in random:
            found = drawn_of(low, self.graph.data[leaf])
            assert found is not None
            self.drawn[found.key] = found
        self.below: dict[int, frozenset[int]] = {}
        self.outcomes = 1

    def expect(self, node: int) -> int:
        """E[node]."""
        table = self.expand(node)
        graph = self.graph
        return graph.add(graph.mul((coefficient, self.moment(m))) for m, coefficient in table.items())

    def group(self, leaf: int) -> Group:
        """The random array, or the member of a random family, that a leaf belongs to."""
        key: Key = self.graph.data[leaf]
        return key[0], key[1][0] if self.low.context.symbols[key[0]].kind == "family" else 0

    def leaves_below(self, node: int) -> frozenset[int]:
        """The random leaves below a node."""
        found = self.below.get(node)
        if found is None:
            found = self.below[node] = frozenset(n for n in self.graph.reachable([node]) if n in self.random)
        return found

    # -- expansion --------------------------------------------------------------------------------------------------

    def expand(self, root: int) -> dict[Monomial, int]:
        """The node as a polynomial in random leaves and in functions of them, with nodes as coefficients."""
        graph = self.graph
        for node in graph.reachable([root]):
            if node in self.expanded:
                continue
            args, op = graph.args[node], graph.ops[node]
            if node in self.random:
                self.expanded[node] = {((node, 1),): graph.one}
            elif all(set(self.expanded[a]) <= {()} for a in args):
                self.expanded[node] = {(): node}
            elif op == "add":
                self.expanded[node] = add_polynomials(graph, [self.expanded[a] for a in args])
            elif op == "mul" or (op == "powi" and 0 < graph.data[node] <= MAX_POWER):
                factors = args if op == "mul" else args * graph.data[node]
                result = self.expanded[factors[0]]
                for a in factors[1:]:
                    result = multiply_polynomials(graph, result, self.expanded[a])
                self.expanded[node] = result
            else:
                self.expanded[node] = {((node, 1),): graph.one}
        return self.expanded[root]

    def affine(self, node: int) -> tuple[dict[int, int], int] | None:
        """Coefficients of the random leaves and the constant, None if the node is not affine in them."""
        table = self.expand(node)
        slopes: dict[int, int] = {}
        for monomial, coefficient in table.items():
            if monomial == ():
                continue
            if len(monomial) != 1 or monomial[0][1] != 1 or monomial[0][0] not in self.random:
                return None
            slopes[monomial[0][0]] = coefficient
        return slopes, table.get((), self.graph.zero)

    # -- moments ----------------------------------------------------------------------------------------------------

    def moment(self, monomial: Monomial) -> int:
        """E of a product; independent parts are taken apart."""
        found = self.known.get(monomial)
        if found is not None:
            return found
        plain = self.without_roots(monomial)
        if plain is not None:
            result = self.known[monomial] = self.expect(plain)
            return result
        parts = self.parts(monomial)
        self.require_independence(sorted({g for groups, _ in parts for g in groups}))
        result = self.graph.mul(self.closed_form(self, groups, part) for groups, part in parts)
        self.known[monomial] = result
        return result

    def without_roots(self, monomial: Monomial) -> int | None:
        """The product with sqrt(u)^2 = u for u that is never negative, and |u|^2 = u^2; None if nothing changes."""
        graph, changed, factors = self.graph, False, []
        for node, power in monomial:
            op, to = graph.ops[node], graph.const(Fraction(power))
            if power < 2 or op not in ("sqrt", "abs") or node in self.random:
                factors.append(graph.power(node, to))
                continue
            inner = graph.args[node][0]
            if op == "sqrt" and bounds(graph, [inner], {})[0][0] < 0:
                factors.append(graph.power(node, to))
                continue
            changed = True
            half = graph.const(Fraction(power // 2 if op == "sqrt" else power - power % 2))
            factors += [graph.power(inner, half), graph.power(node, graph.const(Fraction(power % 2)))]
        return graph.mul(factors) if changed else None

    def parts(self, monomial: Monomial) -> list[tuple[set[Group], Monomial]]:
        """The factors gathered so that no two parts share a random symbol."""
        parts: list[tuple[set[Group], list[tuple[int, int]]]] = []
        for factor in monomial:
            groups = {self.group(n) for n in self.leaves_below(factor[0])}
            members = [factor]
            rest = []
            for other_groups, other in parts:
                if other_groups & groups:
                    groups |= other_groups
                    members = other + members
                else:
                    rest.append((other_groups, other))
            parts = [*rest, (groups, members)]
        return [(groups, tuple(sorted(members))) for groups, members in parts]

    def require_independence(self, groups: list[Group]) -> None:
        """Raise unless different random symbols are declared independent."""
        if len(groups) < 2:
            return
        counts = Counter(name for name, _ in groups)
        laws = {name: self.drawn[group].law for group in groups for name in group[:1]}
        for name, members in counts.items():
            known = max((one.members for one in laws[name].independent if name in one.families), default=1)
            if members > known:
                raise DependenceUnsaid(
                    f"whether the members of {name} are independent is not stated: if they are, write 'i.i.d.' or "
                    "'independent' where they are drawn"
                )
        if not are_independent(frozenset(counts), laws):
            names = sorted(counts)
            what = f"{', '.join(names[:-1])} and {names[-1]} are independent"
            raise DependenceUnsaid(f"whether {what} is not stated: if they are, say it in words where they are drawn")

    def require_free_entries(self, leaves: tuple[int, ...]) -> None:
        """Different entries of one random array must be independent of each other."""
        by_group: dict[Group, list[int]] = {}
        for leaf in leaves:
            by_group.setdefault(self.group(leaf), []).append(leaf)
        for group, entries in by_group.items():
            drawn = self.drawn[group]
            if drawn.law.name != "normal" and len(entries) > 1:
                raise DependenceUnsaid(f"whether the entries of {group[0]} are independent is not said")
            pairs = [(a, b) for k, a in enumerate(entries) for b in entries[k + 1 :]]
            if drawn.law.name == "normal" and any(drawn.covariance(a, b) != self.graph.zero for a, b in pairs):
                raise Unsettled(f"{group[0]} has dependent entries, and an average over them without a closed form "
                                "cannot be tested here")  # fmt: skip


def are_independent(names: frozenset[str], laws: Mapping[str, Distribution]) -> bool:
    """Whether it follows from what is stated that some random symbols are independent of each other.

    Independent blocks, each of independent symbols, are independent symbols.
    """
    if len(names) < 2:
        return True
    for statement in frozenset().union(*(laws[name].independent for name in names)):
        blocks = [frozenset(n for n in block & names if statement in laws[n].independent) for block in statement.blocks]
        blocks = [block for block in blocks if block]
        whole = frozenset().union(*blocks) == names
        if whole and len(blocks) > 1 and all(are_independent(block, laws) for block in blocks):
            return True
    return False


def add_polynomials(graph: Graph, tables: list[dict[Monomial, int]]) -> dict[Monomial, int]:
    """The sum of polynomials."""
    out: dict[Monomial, list[int]] = {}
    for table in tables:
        for monomial, coefficient in table.items():
            out.setdefault(monomial, []).append(coefficient)
    return {monomial: graph.add(parts) for monomial, parts in out.items()}


def multiply_polynomials(graph: Graph, left: dict[Monomial, int], right: dict[Monomial, int]) -> dict[Monomial, int]:
    """The product of two polynomials."""
    if len(left) * len(right) > MAX_MONOMIALS:
        raise TooLarge(f"a polynomial with more than {MAX_MONOMIALS} terms")
    out: dict[Monomial, list[int]] = {}
    for a, x in left.items():
        for b, y in right.items():
            powers = dict(a)
            for leaf, k in b:
                powers[leaf] = powers.get(leaf, 0) + k
            out.setdefault(tuple(sorted(powers.items())), []).append(graph.mul((x, y)))
    return {monomial: graph.add(parts) for monomial, parts in out.items()}
