"""What to declare, or to define, so that a step that rests on readings gets a verdict."""

from __future__ import annotations

from collections.abc import Sequence

from attention_core.derivation.inference.opaque import is_opaque
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import UNDEFINED
from attention_core.derivation.terms.context import ENDED_ADVICE
from attention_core.derivation.terms.terms import Relation

DECLARE = "declare its symbols for a verdict (--scaffold proposes how)"
CONFIRM = (
    "declare its symbols for a verdict (--scaffold proposes how; if its readings are right, --as-read takes them for "
    "declared, and the step is refuted)"
)
_DEFINED = ("definition", "function")
MOST_NAMED = 3  # values of functions that are named


def ask_for_declarations(step: Step, inferred: Sequence[str]) -> str:
    """Say what a step lacks: declarations that have ended with their section, definitions, functions, or all.

    Args:
        step: The step.
        inferred: Its undeclared symbols.
    """
    ended = [name for name in inferred if _is_declared_above(step, name)]
    defined = [name for name in ended if step.context.ended[name][0].kind in _DEFINED]
    if declared := [name for name in ended if name not in defined]:
        those = f"{', '.join(declared)} and what was assumed there"
        return f"declarations end with their section, and so do those of {those}: for a verdict, {ENDED_ADVICE}"
    if defined:
        lines = ", ".join(dict.fromkeys(f"line {step.context.ended[name][0].line}" for name in defined))
        rest = [name for name in inferred if name not in defined]
        also = f", and declare {', '.join(rest)}" if rest else ""
        return (
            f"what {lines} says that {', '.join(defined)} is ends with its section: for a verdict, repeat it in this "
            f"one{also}"
        )
    if any(map(is_opaque, inferred)):
        return UNDEFINED
    return DECLARE


def name_unsaid(step: Step, inferred: Sequence[str], claim: Relation | None) -> str:
    """What to say of a step that is false of any numbers in the place of what nothing defines, '' for any other.

    Args:
        step: The step.
        inferred: Its undeclared symbols.
        claim: Its claim.
    """
    values = [name for name in inferred if is_opaque(name)]
    if values:
        more = ", ..." if len(values) > MOST_NAMED else ""
        names = ", ".join(f"${one}$" for one in values[:MOST_NAMED]) + more
        return f"nothing here defines {names}, and it is not true of all values"
    inside = [part for side in (() if claim is None else (claim.left, claim.right)) for part in side.walk()]
    averaged = any(part.op == "expect" for part in inside)
    if averaged and not any(symbol.law is not None for symbol in step.context.symbols.values()):
        return "no law was read for what is averaged here, and it is not true of all numbers"
    return ""


def _is_declared_above(step: Step, name: str) -> bool:
    """Whether a section that ended above a step says what a name is."""
    symbol, inferred = step.context.ended.get(name, (None, True))
    return symbol is not None and not inferred and symbol.line < step.line


__all__ = ["CONFIRM", "DECLARE", "ask_for_declarations", "name_unsaid"]
