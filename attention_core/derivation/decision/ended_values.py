r"""Steps that hold by the value that a symbol has in a section that has ended.

A symbol is read as it was there, since notation is kept from section to section. A number is not notation, and neither
is what an example or an exercise defines: the next one has other values. So a step that does not hold without such a
value stays open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.reading.confirmed import has_old_value
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Finding
from attention_core.derivation.terms.context import Symbol
from attention_core.derivation.terms.terms import SCALAR, Relation, ShapeMismatch

Decide = Callable[[Step, Sequence[Relation]], Finding]
_CASE = re.compile(
    r"section '[^']*\b(?:examples?|exercises?|problems?|questions?|case|tasks?|attempts?|variants?|experiments?)\b",
    re.IGNORECASE,
)


def find_ended_value(step: Step, decide: Decide) -> str:
    """Why a step that holds may not hold without values of sections that have ended, '' if it does.

    Args:
        step: A step that holds as it was read.
        decide: Decides a step under some more hypotheses.
    """
    known = step.context.symbols
    used = sorted(name for name in collect_symbols(step) & set(step.context.inferred) if has_old_value(step, name))
    old = [known[name] for name in used if _is_of_its_section(known[name], step.context.inferred[name])]
    if not old:
        return ""
    context = step.context.copy()
    for one in old:
        kind = SCALAR if one.term is None or one.term.type.kind == "zero" else one.term.type
        context.symbols[one.name] = replace(one, kind="array", type=kind, term=None)
    try:
        if decide(replace(step, context=context), ()).verdict in GOOD:
            return ""
    except (Unreadable, ShapeMismatch, Unsettled):
        pass
    lines = ", ".join(dict.fromkeys(f"line {one.line}" for one in old))
    names = ", ".join(one.name for one in old)
    return f"it rests on what {lines} says that {names} is, in a section that has ended: repeat it in this one"


def _is_of_its_section(symbol: Symbol, reading: str) -> bool:
    """Whether a symbol is a number there, or of an example."""
    term = symbol.term
    return term is not None and (term.op == "const" or bool(_CASE.search(reading)))


__all__ = ["find_ended_value"]
