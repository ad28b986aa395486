r"""What a reading of undeclared symbols cannot say: laws, and how one symbol depends on another.

Read as free symbols, L does not depend on x, and the derivative of L by x is 0; x is not random, and E[x] is x. Steps
that would be right for such a reason are not decided.
"""

from __future__ import annotations

from attention_core.derivation.inference.opaque import is_opaque
from attention_core.derivation.terms.terms import Relation, Term


def unknown_dependence(claim: Relation) -> str:
    """Why a claim that holds for free symbols may not hold for those of the document, '' if there is no such reason.

    Args:
        claim: The typed claim.
    """
    for side in (claim.left, claim.right):
        for term in side.walk():
            if term.op == "expect":
                return "an average of symbols whose law is not declared"
            if term.op == "deriv" and (body := _unknown_body(term)):
                return f"nothing says how {body} depends on {_variable(term.args[1])}"
    return ""


def _variable(term: Term) -> str:
    while term.args and term.op == "entry":
        term = term.args[0]
    return str(term.data)


def _unknown_body(slope: Term) -> str:
    """What is differentiated, if it does not mention the variable, or is a function that is not defined."""
    body, variable = slope.args[0], _variable(slope.args[1])
    leaves = [str(one.data) for one in body.walk() if one.op in ("leaf", "member", "int")]
    strange = next((one for one in leaves if is_opaque(one)), "")
    if strange or variable in leaves:
        return strange
    return leaves[0] if leaves else "a constant"
