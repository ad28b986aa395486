r"""Integrals of numbers over intervals: `\int_0^\infty x \lambda e^{-\lambda x} \, dx`.

The variable stands for itself inside the integral alone. Without limits an integral is over all real numbers, as those
of densities are; where its variable is declared it may be an antiderivative, and is not read.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import Big, Expr, Group, Minus, Name
from attention_core.derivation.terms.context import Symbol
from attention_core.derivation.terms.terms import SCALAR, ShapeMismatch, Term, integer

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator

_numbers = count(1)
_INFINITE = {Name(r"\infty"): 1, Minus(Name(r"\infty")): -1}
_LINE = (Name(r"\mathbb{R}"),)


def integral(elab: Elaborator, expr: Big) -> Term:
    r"""An integral, or one inside another where several differentials stand behind its body."""
    if not isinstance(expr.body, Group) or len(expr.body.items) < 2 or not all(one.alone for one in expr.body.items):
        raise elab.fail(f"'{to_latex(expr)}' is not understood as an integral: write \\int_a^b f(x) \\, dx")
    body, *variables = (one.exprs[0] for one in expr.body.items)
    names = [symbol_name(one) or "" for one in variables]
    if not all(isinstance(one, Name) for one in variables) or len(set(names)) < len(names):
        raise elab.fail("the variable of an integral is a letter: integrals over vectors are not understood")
    low, high = _limits(elab, expr)
    if len(names) > 1 and (low, high) != (None, None):
        raise elab.fail("one integral sign has limits for one variable: write an integral for each")
    declared = [name for name in names if elab.lookup(name) is not None and name not in elab.context.inferred]
    if (low, high) == (None, None) and (known := next(iter(declared), "")):
        raise elab.fail(
            f"an integral without limits over {known}, which is declared, may be an antiderivative: write the limits"
        )
    return _integrate(elab, body, names, low, high)


def _integrate(elab: Elaborator, body: Expr, names: list[str], low: Term | None, high: Term | None) -> Term:
    """The integral over the first variable of that over the others."""
    name, *others = names
    key = f"{name}§{next(_numbers)}"
    inner = type(elab)(elab.context.copy(), {k: v for k, v in elab.bound.items() if k != name}, elab.line)
    place = (name, "definition", elab.line, elab.context.level)
    inner.context.symbols[name] = Symbol(*place, term=Term("variable", (), SCALAR, key))
    found = _integrate(inner, body, others, None, None) if others else inner.term(body)
    if not found.type.scalar and found.type.kind != "zero":
        raise ShapeMismatch(f"the integral of {found.type}: a number is needed")
    ends = tuple(one for one in (low, high) if one is not None)
    return Term("integral", (found, *ends), SCALAR, (key, low is not None, high is not None))


def _limits(elab: Elaborator, expr: Big) -> tuple[Term | None, Term | None]:
    """The ends of the interval, None where it has none."""
    if not expr.below and expr.above is None:
        return None, None
    if len(expr.below) != 1 or not expr.below[0].alone:
        raise elab.fail(f"the limits of '{to_latex(expr)}' are not understood: write \\int_a^b")
    first = expr.below[0].exprs[0]
    if expr.above is None:
        if first in _LINE:
            return None, None
        raise elab.fail("an integral over a set is not understood: write \\int_a^b")
    if _INFINITE.get(first) == 1 or _INFINITE.get(expr.above) == -1:
        raise elab.fail("the limits of an integral go upwards here: write it with a minus sign")
    ends = [integer(0) if one in _INFINITE else elab.term(one) for one in (first, expr.above)]
    if any(not one.type.scalar and one.type.kind != "zero" for one in ends):
        raise ShapeMismatch("the limits of an integral are numbers")
    return (None if first in _INFINITE else ends[0]), (None if expr.above in _INFINITE else ends[1])
