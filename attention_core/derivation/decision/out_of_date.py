r"""Definitions that a display or a sentence above a step may have replaced.

A document that works through several examples gives its symbols new values: `v_1 = (1, -1)`, and on the next page
`\lambda_1 = 2, v_1 = (2, -1)`. The second display is a claim as it was read, and a false one. It may as well define v_1
anew, so that what follows is not false by the first.

A sentence may give a symbol two values ("$L = a + b$ in training and $L = a$ in testing"), or mention one that is not
meant ("one might set $s = 2 a$; here $s = a b$ is used"). Where the second one does not follow from the first, a step
is neither accepted nor refuted by either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.inference.usage import whole_names
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Expr, Group, Name, Sub, Times, Unreadable
from attention_core.derivation.reading.claimed_sides import plain_name
from attention_core.derivation.reading.defining_formulas import definition_in
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import BY_DISPLAY, GOOD, Finding
from attention_core.derivation.terms.context import Context, ProseEquation, Symbol
from attention_core.derivation.terms.terms import SCALAR, Relation, ShapeMismatch, Type
from attention_core.derivation.words.caveats import chains_of

_DEFINES = re.compile(r":=|\\(?:coloneqq|triangleq)(?![a-zA-Z])")


def find_newer_value(step: Step, decide: Callable[[Step, Sequence[Relation]], Finding]) -> str:
    """Why a false step may rest on a definition that no longer holds, '' if each of its symbols has its newest.

    Where the author promises that all hypotheses are formulas, displays claim, and define nothing. A display that holds
    by the older definition gives no new value.

    Args:
        step: A step that is false as it was read.
        decide: Decides a step under some more hypotheses.
    """
    if other := find_other_value(step, decide):
        return other
    known = step.context.symbols
    named = whole_names(step.left) | whole_names(step.right)
    defined = {name: known[name].line for name in sorted(named) if name in known and known[name].term is not None}
    if step.context.claims_all:
        return ""
    if own := _name_of_value(step, defined):
        return f"it may give {own} a new value, after the one of line {defined[own]}"
    return _find_newer_display(step, defined, decide)


def _find_newer_display(
    step: Step, defined: Mapping[str, int], decide: Callable[[Step, Sequence[Relation]], Finding]
) -> str:
    """Which display above a step may give one of its symbols a new value, '' for none."""
    for peer in step.peers:
        if not isinstance(peer, Step) or peer.op != "=" or peer.chained or peer.line >= step.line:
            continue
        for name in sorted(set(defined) & {_name_of(peer.left), _name_of(peer.right)}):
            if peer.line > defined[name] and not _holds(peer, decide):
                return f"line {peer.line} may give {name} a new value, after the one of line {defined[name]}"
    return ""


def find_other_value(step: Step, decide: Callable[[Step, Sequence[Relation]], Finding]) -> str:
    """Where the document gives a defined symbol of a step another value than the one it is read with, '' if nowhere.

    Args:
        step: The step.
        decide: Decides a step under some more hypotheses.
    """
    known = step.context.symbols
    defined = [known[name] for name in sorted(collect_symbols(step)) if name in known]
    heads = {plain_name(one.name): one for one in defined if one.kind in ("definition", "function")}
    for one in step.context.equations:
        symbol = heads.get(one.head)
        if symbol is None or one.line < symbol.line or _is_own(one, symbol):
            continue
        if _is_claimed(step, one, symbol, decide):
            continue
        return f"line {one.line} may give {symbol.name} another value (${' '.join(one.formula.split())}$)"
    lines = {one.name: one.line for one in heads.values()}
    claimed = not step.context.inferred or step.context.claims_all  # what its displays say of declared symbols
    return "" if claimed else _find_newer_display(step, lines, decide)


def _is_own(equation: ProseEquation, symbol: Symbol) -> bool:
    """Whether an equation is the definition of a symbol itself, as in "Put $y := 2 x$"."""
    return equation.line == symbol.line and bool(_DEFINES.search(equation.formula))


def _is_claimed(
    step: Step, equation: ProseEquation, symbol: Symbol, decide: Callable[[Step, Sequence[Relation]], Finding]
) -> bool:
    """Whether an equation of the prose follows from what its symbol is defined as."""
    key = _names_and_conventions(step, equation)
    if any(one == key for one in equation.follows):
        return True
    found = _follows(step, equation, symbol, decide)
    if found:
        equation.follows.append(key)
    return found


def _names_and_conventions(step: Step, equation: ProseEquation) -> tuple[Any, ...]:
    """What the meaning of an equation of the prose rests on: its symbols, the hypotheses and the conventions."""
    context = step.context
    names = {one for one in context.symbols if one in equation.formula}
    while more := {one for name in names for one in context.symbols[name].mentions & context.symbols.keys()} - names:
        names |= more
    signs = (context.broadcast, context.readings, context.repeated, context.imaginary, context.loose, context.stated)
    return (*((one, context.symbols[one]) for one in sorted(names)), *_kinds_of(context), *context.hypotheses, *signs)


def _kinds_of(context: Context) -> tuple[Type, ...]:
    """The shapes of the arrays that are known, which an argument may have."""
    kinds = (one.type for one in context.symbols.values() if one.type is not None and not one.type.scalar)
    return tuple(dict.fromkeys(kinds))


def _follows(
    step: Step, equation: ProseEquation, symbol: Symbol, decide: Callable[[Step, Sequence[Relation]], Finding]
) -> bool:
    made = definition_in(equation.formula)
    args = made.args if made is not None else ()
    for kind in (SCALAR, *_kinds_of(step.context)) if args else (SCALAR,):
        context = step.context.copy()
        for name in args:
            context.symbols.setdefault(name, Symbol(name, "array", step.line, context.level, kind))
        with suppress(Unreadable, ShapeMismatch, Unsettled, RecursionError):
            chain = chains_of(equation.formula, equation.line)[0]
            left, right = chain.exprs
            bare = replace(step, context=context, text=equation.formula, left=left, op="=", right=right, of=None)
            bare = replace(bare, assumed=[], conditions=(), options=[], chained=False)
            return decide(bare, ()).verdict in GOOD
    return bool(symbol.params) and symbol.kind == "definition"  # its index has no range in a sentence


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
    """The symbol that a side is, or the function whose value at letters it is; '' for any other formula."""
    match side:
        case Times((Name() | Sub() as head, Group("(", items)), ("",)) if all(
            one.alone and isinstance(one.exprs[0], Name) for one in items
        ):
            return symbol_name(head) or ""
    return (symbol_name(side) or "") if isinstance(side, Name | Sub) else ""


__all__ = ["find_newer_value", "find_other_value"]
