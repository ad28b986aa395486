"""What names mean that stand alone.

What a letter or word means by itself: what the document declared, else e, pi or I, else nothing: the error says
what to write. Each function takes the elaborator it works for as its first argument.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_core.derivation.elaborate.functions import expand_definition
from attention_core.derivation.elaborate.indicators import ONES
from attention_core.derivation.latex.syntax import Chain, Name
from attention_core.derivation.terms.terms import EYE, SCALAR, Term, integer

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator


def symbol(elab: Elaborator, name: str) -> Term:
    """A name standing alone."""
    if name in elab.bound:
        return Term("int", (), SCALAR, name)
    found = elab.lookup(name)
    if found is None:
        return _constant(elab, name)
    if found.kind in ("size", "index"):
        return Term("int", (), SCALAR, name)
    if found.kind == "definition":
        if found.params:
            raise elab.fail(f"{name} was defined with an index: write {name}_{{...}}")
        assert found.term is not None
        return Term("bind", (found.term,), found.term.type, ())
    if found.kind == "function":
        if any(elab.lookup(p) is None and p not in elab.bound for p in found.params):
            raise elab.fail(f"{name} is a function: write {name}({', '.join(found.params)})")
        return elab.term(expand_definition(elab, found, tuple(Chain((Name(p),)) for p in found.params)))
    if found.kind == "family":
        raise elab.fail(f"{name} is a family: write {name}_i with a declared index, or {name}_1")
    assert found.type is not None
    return Term("leaf", (), found.type, name)


def _constant(elab: Elaborator, name: str) -> Term:
    """Letters with a meaning of their own, unless declared otherwise."""
    if name == "e":
        return Term("exp", (integer(1),), SCALAR)
    if name == r"\pi":
        return Term("pi", (), SCALAR)
    if name == "I":
        return Term("eye", (), EYE)
    if name == r"\infty":
        raise elab.fail(
            r"\infty is only understood under \lim, in an interval, and in '% as: x \to \infty'; "
            r"a series is \lim_{n \to \infty} \sum_{i=0}^{n} ..."
        )
    if name == r"\Delta" and name not in elab.context.dropped:
        raise elab.fail(
            r"\Delta is not declared, and \Delta x is read as a product: write one symbol, such as x_\Delta"
        )
    if name == r"\nabla":
        raise elab.fail(r"\nabla does not say by what is differentiated: write \nabla_x")
    if name == ONES:
        raise elab.fail(r"a vector of ones needs its size: write \mathbf{1}_n with a declared n")
    if name in elab.context.dropped:
        line, why = elab.context.dropped[name]
        raise elab.fail(
            f"{name} is not declared any more: {why}; declare it again (it was declared before line {line})"
        )
    if name.startswith(r"\text{"):
        word = name.removeprefix(r"\text{").removesuffix("}")
        raise elab.fail(
            f"{name} is not declared, and no function of that name is known: write 'Let $\\text{{{word}}} \\in "
            f"\\mathbb{{R}}$', or define it, as in 'Put $\\text{{{word}}}(t) := ...$'"
        )
    raise elab.fail(f"{name} is not declared: write 'Let ${name} \\in \\mathbb{{R}}$' (or its shape) above the display")
