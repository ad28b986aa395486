r"""Steps beside a display that gives a symbol a new value by its old one, such as `x = x + 1`.

A sentence gives one as well: "The update rule is $\theta := \theta - \eta g$.". It restricts nothing.

Around such a display the old and the new value have one name: in `n - i = n - i - 1` the i on the left is the new one.
So a false step stays open if it holds with the new value in the place of the old one on one of its sides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.elaborate.functions import substitute
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.latex.printer import all_names, symbol_name
from attention_core.derivation.latex.syntax import Chain, Expr, Group, Name, Sub, Unreadable
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Finding
from attention_core.derivation.terms.terms import Relation, ShapeMismatch
from attention_core.derivation.words.caveats import chains_of

Decide = Callable[[Step, Sequence[Relation]], Finding]
MOST = 6
"""New values that are tried."""
_ARROW = re.compile(r"\\(?:coloneqq|leftarrow|gets)(?![a-zA-Z])")
_UPDATES = compile_quick(r"\b(?:updat\w*|increment\w*|decrement\w*)\b(?![^.;]*\buntil\b)", re.IGNORECASE)


def mixes_new_value(step: Step, decide: Decide) -> bool:
    """Whether a false step holds with the new value of a symbol on one side and its old one on the other.

    Args:
        step: A step that is false as it was read.
        decide: Decides a step under some more hypotheses.
    """
    if step.op != "=" or step.context.claims_all:
        return False
    for name, value in list(_iterate_new_values(step))[:MOST]:
        for side in ("left", "right"):
            changed = _put(getattr(step, side), name, value)
            if changed is not None and _holds(step, side, changed, decide):
                return True
    return False


def is_update(formula: str, quote: str) -> bool:
    """Whether a relation of a sentence gives a symbol a new value by its old one: it says nothing of either.

    Args:
        formula: The relation.
        quote: The sentence; by words of an update an equation gives one.
    """
    return _read_update(formula, quote) is not None


def _read_update(formula: str, quote: str) -> tuple[str, Expr] | None:
    """The symbol that gets a new value, and that value."""
    written = _ARROW.sub(":=", formula)
    if ":=" not in written and not _UPDATES.search(quote):
        return None
    try:
        (chain,) = chains_of(written, 1)
    except (Unreadable, RecursionError, ValueError):
        return None
    if len(chain.exprs) != 2 or chain.ops[0] not in (":=", "=") or not isinstance(chain.exprs[0], Name | Sub):
        return None
    name = symbol_name(chain.exprs[0]) or ""
    return (name, chain.exprs[1]) if name in all_names(chain.exprs[1]) else None


def _iterate_new_values(step: Step) -> Iterator[tuple[str, Expr]]:
    """The symbols of a step to which another display, or a sentence, gives a new value, and that value."""
    known, names = step.context.symbols, collect_symbols(step)
    for peer in step.peers:
        if not isinstance(peer, Step) or peer is step or peer.op != "=" or not isinstance(peer.left, Name | Sub):
            continue
        name = symbol_name(peer.left) or ""
        own = peer.context.symbols.get(name)
        if name in names and own is not None and own == known.get(name) and name in all_names(peer.right):
            yield name, peer.right
    updates = (_read_update(one.formula, one.quote) for one in step.far_relations)
    yield from (one for one in updates if one is not None and one[0] in names)


def _put(side: Expr, name: str, value: Expr) -> Expr | None:
    """A side with a value in the place of a symbol, None where it has no such symbol."""
    group = Group("(", (Chain((value,)),), ")")

    def put(one: object) -> object | None:
        return group if isinstance(one, Name | Sub) and symbol_name(one) == name else None

    made: Any = substitute(side, put)
    return None if made == side else made


def _holds(step: Step, side: str, changed: Expr, decide: Decide) -> bool:
    sides: Any = {side: changed}
    try:
        return decide(replace(step, **sides), ()).verdict in GOOD
    except (Unreadable, ShapeMismatch, Unsettled):
        return False


__all__ = ["is_update", "mixes_new_value"]
