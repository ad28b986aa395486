r"""Domains that authors leave unsaid: numbers are positive, and factors of a decomposition are orthogonal or diagonal.

A person who confirms that x is a number has not said that it may be negative. `\sqrt{x^2} = x` and `(a^b)^c = a^{bc}`
are true of positive numbers, and `A^\top A = V \Sigma^2 V^\top` of the singular value decomposition. So a step that is
false as it was confirmed is AMBIGUOUS where it holds in such a domain. Only symbols count that nothing declares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attention_core.derivation.claims import claim_of
from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.decision.usual import verdict_under
from attention_core.derivation.inference.usage import letter_of
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Finding
from attention_core.derivation.terms.context import Symbol
from attention_core.derivation.terms.terms import Relation, Term

Factor = tuple[Term, bool]  # and whether it is transposed
Decide = Callable[[Step, Sequence[Relation]], Finding]
MOST_DROPPED = 6  # numbers of which each is tried without a sign
_MIDDLE = frozenset([r"\Sigma", r"\Lambda", "S", "D"])  # what stands between the outer factors, and is diagonal
_OUTER = frozenset(["Q", "U", "V", "P", "W", "E"])
_TRIANGLE = frozenset([("Q", "R"), ("U", "P"), ("U", "H")])


def find_usual_domain(step: Step, confirmed: Step, decide: Decide) -> str:
    """The domain of its undeclared symbols in which a false step holds, as formulas; '' if none was found.

    Args:
        step: The step as its document has it.
        confirmed: The step with its readings declared, which is false so.
        decide: Decides a step under some more hypotheses.
    """
    names = collect_symbols(step) & set(step.context.inferred)
    stated = {name for name in names if step.context.inferred[name].endswith("says so)")}
    known = confirmed.context.symbols
    symbols = [known[name] for name in sorted(names - stated) if name in known and known[name].term is None]

    def holds(formulas: Sequence[str]) -> bool:
        return bool(formulas) and verdict_under(confirmed, ", ".join(formulas), decide) in GOOD

    signs = list(_write_signs(confirmed, symbols))
    if holds(signs):
        for one in signs[:MOST_DROPPED]:
            rest = [other for other in signs if other != one]
            signs = rest if holds(rest) else signs
        return ", ".join(signs)
    return next((", ".join(one) for one in _write_factors(confirmed, names) if holds(one)), "")


def _write_signs(step: Step, symbols: Sequence[Symbol]) -> Iterator[str]:
    """That numbers, the members of families of numbers and the entries of columns are positive."""
    index = next((one for one in "ijklrst" if one not in step.context.symbols), "i'")
    for one in symbols:
        if one.type is None or one.kind not in ("array", "family"):
            continue
        if one.type.scalar:
            yield f"{one.name} > 0" if one.kind == "array" else f"{one.name}_{index} > 0"
        elif one.kind == "array" and one.type.vector and one.type.column:
            yield f"{one.name}_{index} > 0"


def _write_factors(step: Step, names: frozenset[str]) -> Iterator[list[str]]:
    """What is meant of the factors of the decompositions in a step and its definitions: less first."""
    claim = claim_of(step)[1]
    parts = [part for side in (claim.left, claim.right) for part in side.walk()]
    outer: dict[str, str] = {}
    middle: dict[str, str] = {}
    for factors in (some for part in parts for some in _cut_in_threes(_list_factors(part))):
        letters = tuple(letter_of(one.data) for one, _ in factors)
        ends = [factors[0][0]] if letters in _TRIANGLE else []
        if len(factors) == 3 and letters[1] in _MIDDLE and {letters[0], letters[2]} <= _OUTER:
            kind, name = factors[1][0].type, factors[1][0].data
            if kind.rows == kind.cols and (factors[0][1], factors[2][1]) == (False, True):
                ends = [factors[0][0], factors[2][0]]
                middle[name] = rf"{name} = {name} \odot I_{{{kind.rows}}}"
        outer |= {one.data: rf"{one.data}^\top {one.data} = I_{{{one.type.cols}}}" for one in ends}
    free = [[text for name, text in some.items() if name in names] for some in (outer, middle)]
    yield free[0]
    yield [*free[0], *free[1]]


def _cut_in_threes(factors: list[Factor]) -> list[list[Factor]]:
    """Each three factors that stand side by side; all of fewer."""
    return [factors[place : place + 3] for place in range(max(1, len(factors) - 2))]


def _list_factors(part: Term) -> list[Factor]:
    """The factors of a product of matrices and whether each is transposed; [] if one is not a symbol."""
    if part.op == "matmul":
        sides = [_list_factors(one) for one in part.args]
        return [one for side in sides for one in side] if all(sides) else []
    turned = part.op == "transpose"
    leaf = part.args[0] if turned else part
    return [(leaf, turned)] if leaf.op == "leaf" and not leaf.type.scalar and not leaf.type.vector else []


__all__ = ["find_usual_domain"]
