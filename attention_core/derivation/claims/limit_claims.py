r"""Claims about limits as relations between `limit` terms.

What a step says about a limit: which symbol moves, where to, and what the two sides do on the way.
Read from `% as: S \to \infty`, from a premise `S \to \infty \implies`, or from \lim itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.elaborate.sums import infinity, limit_of
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.syntax import Big, Expr, Unreadable
from attention_core.derivation.terms.shapes import fit, join_types
from attention_core.derivation.terms.terms import Relation, Term

if TYPE_CHECKING:
    from attention_core.derivation.reading.steps import Step


def moving(step: Step) -> tuple[Expr, Expr]:
    r"""What moves and where to: from `% as:`, or from a premise such as `S \to \infty \implies`."""
    chains = [chain for chain, _ in step.assumed if chain.ops == ("->",)]
    if step.option("as"):
        parsed = parse_statement(step.option("as"), step.line)
        chains = [] if parsed.arrows else list(parsed.chains)
    if len(chains) != 1 or chains[0].ops != ("->",):
        raise Unreadable(r"say what moves: write '% as: S \to \infty' above the step", step.line)
    return chains[0].exprs[0], chains[0].exprs[1]


def limit_claim(step: Step, elab: Elaborator, left: Term, right: Term) -> Relation:
    r"""`left \to right`, `left \approx right` as something moves: both sides do the same in the end."""
    variable, target = moving(step)
    kind = join_types(left.type, right.type, "compared")
    one, two = (limit_of(elab, fit(t, kind), variable, target) for t in (left, right))
    return Relation(one, "->", two, step.line)


def endless(step: Step, elab: Elaborator) -> Relation | None:
    r"""`\lim ... = \infty` and `... \to \infty`; None if the right side is not infinite."""
    way = infinity(step.right)
    if not way or not (step.op == "->" or (step.op == "=" and isinstance(step.left, Big) and step.left.op == "lim")):
        return None
    left = elab.term(step.left)
    if step.op == "->":
        left = limit_of(elab, left, *moving(step))
    if not left.type.scalar:
        raise Unreadable(rf"{left.type} does not tend to \infty: say it for its entries or its norm", step.line)
    return Relation(left, "->", Term("infinity", (), left.type, way), step.line)


def bare_limit(left: Term, right: Term, line: int) -> Relation | None:
    r"""`\lim f = c` as `f \to c`, so that a limit that is infinite or does not exist refutes it; else None."""
    if left.op != "limit" or any(t.op == "limit" or (t.op in ("leaf", "int") and t.data == left.data[0])
                                 for t in right.walk()):  # fmt: skip
        return None
    kind = join_types(left.type, right.type, "compared")
    return Relation(left, "->", Term("limit", (fit(right, kind), left.args[1]), kind, left.data), line)
