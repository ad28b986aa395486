"""The degree of a claim in its sizes.

How often a size may be a number in a claim: two polynomials in n of degree D that agree at D + 1 sizes agree at all.
A size that is only a dimension (the length of a sum over entries) is not a number; what grows otherwise has no degree.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf

from attention_core.derivation.effort import on_time
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.terms import Relation, Term

Degree = tuple[float, float]  # of numerator and denominator; `inf` where there is none
NONE: Degree = (0.0, 0.0)
NEVER: Degree = (inf, inf)
ENTRIES = frozenset({"const", "leaf", "member", "eye", "ones", "zeros", "pi"})
PLACED = frozenset({"entry", "slice", "bind", "neg", "transpose", "diag", "diagonal", "deriv"})
PARTS = frozenset({"blocks", "hcat", "vcat"})
LOOPS = frozenset({"tr", "norm1"})
UNGRADED = frozenset({"kron", "vec", "rank", "pinv", "eigen", "singular", "normp", "norm0", "factorial", "binom"})


def enough_sizes(
    context: Context, claim: Relation, identities: bool = False, tied: frozenset[str] = frozenset()
) -> int | None:
    """How many values of each size, from the smallest on, settle an equation for its degree; None if no number does.

    The two sides, brought to one denominator, are polynomials in every size of degree D at most, with coefficients
    among the entries; a size below a root counts half, and twice as many values are needed. With `identities`
    among the entries (A^T A = I) every sum over entries may be a number. They are polynomials only from the sizes on
    at which every condition on indices can hold: [i = j + 7] is 0 up to n = 7.

    Args:
        context: What is declared.
        claim: An equation.
        identities: Whether equations hold among the entries.
        tied: Symbols that an equation ties to a size as a number, such as the a of a = n: |9 - a| = 9 - a up to n = 9.
    """
    found = _Degrees(context, identities, tied).of(Term("add", (claim.left, claim.right), claim.left.type))
    if found[0] == inf:
        return None
    whole = found[0] if found[0] == int(found[0]) else 2 * found[0]
    return int(whole) + 1 + offsets(claim)


def polynomial_degree(context: Context, claim: Relation) -> int | None:
    """The degree that both sides have at most as polynomials in the sizes; None if they need not be polynomials.

    Args:
        context: What is declared.
        claim: The relation.
    """
    above, below = _Degrees(context).of(Term("add", (claim.left, claim.right), claim.left.type))
    return None if above == inf or below or above != int(above) or offsets(claim) else int(above)


def offsets(claim: Relation) -> int:
    """How far numbers in the conditions on indices and in the ends of sums reach, all together.

    Below that many values of a size, [i = j + 7] may hold nowhere, and a sum from 400 on be empty.
    """
    terms = {id(term): term for side in (claim.left, claim.right) for term in side.walk()}
    total = Fraction(0)
    for term in terms.values():
        if term.op == "test":
            total += sum(_numbers(a) for a in term.args)
        elif term.op == "reduce":
            total += sum(max(_numbers(a) - 1, Fraction(0)) for a in term.args[:2])
    return ceil(total)


def _numbers(term: Term) -> Fraction:
    """The sum of the sizes of the numbers in a term."""
    return sum((abs(Fraction(t.data)) for t in term.walk() if t.op == "const"), Fraction(0))


@dataclass
class _Degrees:
    context: Context
    averaged: bool = False  # below an average sums over entries are numbers: E sum x_i^2 = n sigma^2
    tied: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.known: dict[int, Degree] = {}  # what definitions share is looked at once
        self.known_direct: dict[int, bool] = {}

    def of(self, term: Term) -> Degree:
        found = self.known.get(id(term))
        if found is None:
            on_time()
            found = self.known[id(term)] = self.compute(term)
        return found

    def compute(self, term: Term) -> Degree:
        op, args = term.op, term.args
        if op in ENTRIES:
            return NONE
        if op == "int":
            return 1.0, 0.0
        if op == "size":
            above = max((sum(k for _, k in m if k > 0) for m, _ in term.data.terms), default=0)
            below = max((-sum(k for _, k in m if k < 0) for m, _ in term.data.terms), default=0)
            return float(above + below), float(below)
        if op in PLACED:
            return self.of(args[0])
        if op in PARTS:
            return self.add([self.of(a) for a in (args if op == "blocks" else args[2:3])])
        if op == "add":
            return self.add([self.of(a) for a in args])
        if op in ("mul", "hadamard", "matmul"):
            (a, b), (c, d) = (self.of(x) for x in args)
            return a + c + (self.loop(args) if op == "matmul" else 0), b + d
        if op == "div":
            (a, b), (c, d) = (self.of(x) for x in args)
            return a + d, b + c
        if op == "expect":
            return _Degrees(self.context, True, self.tied).of(args[0])
        if op in LOOPS:
            return _plus(self.of(args[0]), self.loop(args))
        if op == "reduce":
            return self.reduce(term)
        if op == "pow":
            return self.power(term)
        return self.other(term)

    def other(self, term: Term) -> Degree:
        """Functions: of entries alone they are entries, of sizes they have no degree."""
        if term.op == "sqrt" and self.monomial(term.args[0]):
            above, below = self.of(term.args[0])
            return above / 2, below / 2
        if term.op in UNGRADED:
            return NEVER
        if self.tied and any(t.op in ("leaf", "member") and t.data in self.tied for t in term.walk()):
            return NEVER
        over_entries = term.op not in ("norm", "softmax", "lse", "maxof", "minof", "normmax") or not self.loop(
            term.args
        )
        return NONE if over_entries and all(self.of(a) == NONE for a in term.args) else NEVER

    def add(self, parts: list[Degree]) -> Degree:
        below = sum(d for _, d in parts)
        return max((n + below - d if below < inf else inf for n, d in parts), default=0.0), below

    def power(self, term: Term) -> Degree:
        base, to = self.of(term.args[0]), term.args[1]
        if term.args[0].op == "norm" and to.op == "const" and to.data > 0 and to.data % 2 == 0:
            base = self.squared_norm(term.args[0])
            to = Term("const", (), to.type, Fraction(to.data) / 2)
        if to.op == "neg" and to.args[0].op == "const":
            to = Term("const", (), to.type, -to.args[0].data)
        if to.op != "const":
            return NONE if base == NONE == self.of(to) else NEVER
        k = Fraction(to.data)
        if base == NONE:
            return NONE if k.denominator == 1 else self.other(term)
        if k.denominator != 1 and not (k.denominator == 2 and self.monomial(term.args[0])):
            return NEVER
        above, below = base if k >= 0 else base[::-1]
        return above * abs(float(k)), below * abs(float(k))

    def squared_norm(self, norm: Term) -> Degree:
        """A squared norm is the sum of the squares of the entries."""
        above, below = self.of(norm.args[0])
        return 2 * above + self.loop(norm.args) * (1 if norm.args[0].type.vector else 2), 2 * below

    def reduce(self, term: Term) -> Degree:
        op, name = term.data
        body, ends = self.of(term.args[2]), [self.of(a) for a in term.args[:2]]
        if all(e == NONE for e in ends):
            return body if op == "sum" and not body[1] else NONE if body == NONE else NEVER
        if max(n for n, _ in ends) > 1 or any(d for _, d in ends):
            return NEVER
        direct = self.runs_over(term.args[2], name) and not self.averaged
        if op != "sum":
            return NONE if body == NONE and direct else NEVER
        if body[1] and any(t.op == "int" and t.data == name for t in term.args[2].walk()):
            return NONE if body == NONE else NEVER
        return body if direct else _plus(body, 1)

    def loop(self, args: tuple[Term, ...]) -> int:
        """1 if a sum over a dimension may be a number, 0 if every term of it has an entry of its own."""
        return 1 if self.averaged or not any(self.direct(a) for a in args) else 0

    def direct(self, term: Term) -> bool:
        """Whether every entry of an array is made of entries in its own places, so that none is a plain number."""
        known = self.known_direct.get(id(term))
        if known is None:
            known = self.known_direct[id(term)] = self.made_of_entries(term)
        return known

    def made_of_entries(self, term: Term) -> bool:
        if term.op in ("leaf", "member"):
            return True
        if term.op in ("transpose", "neg", "div"):
            return self.direct(term.args[0])
        if term.op in ("add", "matmul"):
            return all(self.direct(a) for a in term.args)
        if term.op in ("mul", "hadamard", "bind"):
            return any(self.direct(a) for a in (term.args[:1] if term.op == "bind" else term.args))
        return term.op in ("softmax", "lse", "exp") and self.direct(term.args[0])

    def runs_over(self, body: Term, name: str) -> bool:
        """Whether each term of a sum has an entry at the place that the index runs over."""
        if body.op in ("entry", "member"):
            return any(t.op == "int" and t.data == name for a in body.args for t in a.walk())
        if body.op == "add":
            return all(self.runs_over(a, name) for a in body.args)
        if body.op == "bind":
            return any(t.op == "int" and t.data == name for a in body.args[1:] for t in a.walk())
        if body.op in ("pow", "neg", "div", "exp", "abs", "transpose", "norm", "sqrt"):
            return self.runs_over(body.args[0], name)
        if body.op == "reduce":
            return self.runs_over(body.args[2], name)
        return body.op in ("mul", "matmul", "hadamard") and any(self.runs_over(a, name) for a in body.args)

    def monomial(self, term: Term) -> bool:
        """Whether a term is one size, or a product or quotient of such and of numbers."""
        if term.op == "size":
            return len(term.data.terms) == 1
        if term.op in ("mul", "div"):
            return all(self.monomial(a) for a in term.args)
        return term.op in ("int", "const")


def _plus(degree: Degree, more: float) -> Degree:
    return degree[0] + more, degree[1]
