r"""Other readings of a step whose symbols are not declared.

Nothing is refuted by an inferred reading. Where a step is false by it, or its shapes do not fit, and it holds as
another author may mean it, it is AMBIGUOUS, and the message says which reading makes it true: a letter that only its
formula made a vector is a number that is added to every entry ($\operatorname{softmax}(x + c)$), a small letter is a
vector, or a convention is another one (gradients as rows).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from attention_core.derivation.claims import claim_of
from attention_core.derivation.decision.conventions import collect_symbols, readings
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.inference.infer import domain_text
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Evidence, Finding, Verdict
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.terms import SCALAR, Relation, ShapeMismatch, Type

Decide = Callable[[Step], Finding]
READ = "as it was read"
MOST = 6  # readings that are tried
WEAK = ("(from the formulas around it)", "(a small letter)")  # reasons that any other reading may overrule


def find_other_reading(step: Step, found: Finding, decide: Decide) -> Finding | None:
    """AMBIGUOUS where a step that is not true as it was read holds in another reading; None where none was found.

    Args:
        step: The step.
        found: What was found of it.
        decide: Decides a step.
    """
    for words, one in islice(_iterate_readings(step), MOST):
        try:
            verdict = decide(one).verdict
        except (Unreadable, ShapeMismatch, Unsettled):
            continue
        if verdict in GOOD:
            why = found.evidence.text
            text = f"it holds {words}; {why if why.startswith(READ) else f'{READ}, {why}'}"
            return Finding(Verdict.AMBIGUOUS, Evidence(text, {**found.evidence.figures, "reading": words}))
    return None


def _iterate_readings(step: Step) -> Iterator[tuple[str, Step]]:
    """What each reading says, and the step in it; what it says of one symbol first, then other conventions."""
    context = step.context
    used = collect_symbols(step)
    kinds = (context.symbols[n].type for n in sorted(used & set(context.symbols)))
    columns = tuple(dict.fromkeys(kind for kind in kinds if kind is not None and _is_column(kind)))
    for name in sorted(used & set(context.inferred)):
        symbol = context.symbols.get(name)
        if symbol is None or not _is_open(context, symbol):
            continue
        for kind in (SCALAR,) if _is_column(symbol.type) else columns[:2]:
            changed = context.copy()
            changed.symbols[name] = replace(symbol, type=kind, mentions=frozenset(kind.rows.symbols()))
            changed.broadcast = context.level  # a number is added to every entry
            yield f"with ${name} \\in {domain_text(kind)}$", replace(step, context=changed)
    yield from ((words, replace(step, context=one)) for words, one in readings(step, _claim(step)))


def _is_open(context: Context, symbol: Symbol) -> bool:
    """Whether little speaks for the kind of an inferred symbol, and nothing is known of it."""
    weak = context.inferred[symbol.name].endswith(WEAK)
    plain = symbol.kind == "array" and symbol.law is None and symbol.term is None and symbol.type is not None
    return weak and plain and not any(symbol.name in h.mentions for h in context.hypotheses)


def _is_column(kind: Type | None) -> bool:
    return kind is not None and kind.kind == "matrix" and kind.column


def _claim(step: Step) -> Relation | None:
    try:
        return claim_of(step)[1]
    except ShapeMismatch:
        return None


__all__ = ["find_other_reading"]
