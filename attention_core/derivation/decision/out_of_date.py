r"""Definitions that a display above a step may have replaced.

A document that works through several examples gives its symbols new values: `v_1 = (1, -1)`, and on the next page
`\lambda_1 = 2, v_1 = (2, -1)`. The second display is a claim as it was read, and a false one. It may as well define v_1
anew, so that what follows is not false by the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.inference.usage import whole_names
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Expr, Name, Sub, Unreadable
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import BY_DISPLAY, GOOD, Finding
from attention_core.derivation.terms.terms import Relation, ShapeMismatch


def find_newer_value(step: Step, decide: Callable[[Step, Sequence[Relation]], Finding]) -> str:
    """Why a false step may rest on a definition that no longer holds, '' if each of its symbols has its newest.

    Where the author promises that all hypotheses are formulas, displays claim, and define nothing. A display that holds
    by the older definition gives no new value.

    Args:
        step: A step that is false as it was read.
        decide: Decides a step under some more hypotheses.
    """
    known = step.context.symbols
    named = whole_names(step.left) | whole_names(step.right)
    defined = {name: known[name].line for name in sorted(named) if name in known and known[name].term is not None}
    if not defined or step.context.claims_all:
        return ""
    if own := _name_of_value(step, defined):
        return f"it may give {own} a new value, after the one of line {defined[own]}"
    for peer in step.peers:
        if not isinstance(peer, Step) or peer.op != "=" or peer.chained or peer.line >= step.line:
            continue
        for name in sorted(set(defined) & {_name_of(peer.left), _name_of(peer.right)}):
            if peer.line > defined[name] and not _holds(peer, decide):
                return f"line {peer.line} may give {name} a new value, after the one of line {defined[name]}"
    return ""


def _name_of_value(step: Step, defined: Mapping[str, int]) -> str:
    """The symbol that a step equates with numbers alone, if a display defines it, and no declaration; '' for none."""
    by_display = {line for line, text in step.context.understood if text.startswith(BY_DISPLAY)}
    for side, other in ((step.left, step.right), (step.right, step.left)):
        name = _name_of(side)
        if step.op == "=" and defined.get(name) in by_display and not whole_names(other) & set(step.context.symbols):
            return name
    return ""


def _holds(peer: Step, decide: Callable[[Step, Sequence[Relation]], Finding]) -> bool:
    try:
        return decide(peer, ()).verdict in GOOD
    except (Unreadable, ShapeMismatch, Unsettled):
        return False


def _name_of(side: Expr) -> str:
    return (symbol_name(side) or "") if isinstance(side, Name | Sub) else ""


__all__ = ["find_newer_value"]
