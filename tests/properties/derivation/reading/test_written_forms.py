"""Statements with the forms of a document written as what is read."""

from __future__ import annotations

from attention_core.derivation.document.blocks import Display
from attention_core.derivation.document.display import statements_of
from attention_core.derivation.latex.syntax import Chain, names_in
from attention_core.derivation.reading.written_forms import write_forms
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.terms import ONE, SCALAR, Size


def names_of(chains: tuple[Chain, ...]) -> set[str]:
    return {name for chain in chains for name in names_in(chain)}


def test_members_of_families_are_written_in_a_statement_and_beside_it() -> None:
    (one,) = statements_of(Display(1, r"x^{(i)} = 0 \quad \text{for } x^{(i)} > 0"), lenient=True)
    context = Context()
    assert write_forms(context, one) == one
    family = r"x^{(\cdot)}"
    context.declare(Symbol(family, "family", 1, 0, SCALAR, ONE, Size.symbol("n")))
    written = write_forms(context, one)
    assert family in names_of(written.statement.chains)
    beside = (*written.conditions, *written.offered, *written.beside)
    assert beside and "x" not in names_of(beside)
