r"""Steps that hold of labels, masks, bits and signs, where a document mentions them anywhere.

A person who confirms that y is a number has not said that it may be 2. `(m x)^2 = m x^2` is true of a mask, and
`(y - f)^2 = 1 - 2 y f + f^2` of a sign. So a step that is false as it was confirmed stays open where it holds with
y^2 = y or y^2 = 1, and the document has a word for such numbers, or names their values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.decision.slips import mentions_two_values
from attention_core.derivation.decision.usual import verdict_under
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Finding
from attention_core.derivation.terms.terms import Relation

Decide = Callable[[Step, Sequence[Relation]], Finding]
MOST = 12
"""Hypotheses that are tried."""


def find_two_values(step: Step, confirmed: Step, decide: Decide) -> str:
    """The formula by which undeclared numbers have two values and a false step holds, '' for none.

    Args:
        step: The step as its document has it.
        confirmed: The step with its readings declared, which is false so.
        decide: Decides a step under some more hypotheses.
    """
    if not mentions_two_values(step):
        return ""
    formulas = list(_write_values(step, confirmed))[:MOST]
    return next((one for one in formulas if verdict_under(confirmed, one, decide) in GOOD), "")


def _write_values(step: Step, confirmed: Step) -> Iterator[str]:
    known = confirmed.context.symbols
    own = [known[name] for name in sorted(collect_symbols(step) & set(step.context.inferred)) if name in known]
    index = next((one for one in "ijklrst" if one not in known), "i'")
    for one in own:
        if one.term is not None or one.type is None:
            continue
        entries = one.kind == "array" and one.type.vector and one.type.column
        if one.kind == "family" or entries:
            yield from (f"{one.name}_{index}^2 = {value}" for value in (f"{one.name}_{index}", "1"))
        elif one.kind == "array" and one.type.scalar:
            yield from (f"{one.name}^2 = {value}" for value in (one.name, "1"))


__all__ = ["find_two_values"]
