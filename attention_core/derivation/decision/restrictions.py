r"""Steps that define a symbol or restrict it: `k = 2 q` or `A x = b` where nothing is known of k and b.

"For all k and q, k = 2 q" is a claim that nobody makes. Where nothing else determines k, such a display defines it, or
is an equation that restricts it, whatever the words around it say.
"""

from __future__ import annotations

from attention_core.derivation.latex.printer import all_names, symbol_name, to_latex
from attention_core.derivation.latex.syntax import Expr, Name, Sub
from attention_core.derivation.reading.steps import Step

_KINDS = ("size", "index", "array", "family")


def restriction(step: Step) -> str:
    """What to write for a step that reads as a definition or an equation, '' for a claim."""
    if step.chained or step.op != "=":
        return ""
    for side, other in ((step.left, step.right), (step.right, step.left)):
        name = _free_symbol(step, side, other)
        if not name:
            continue
        return (
            f"it reads as a definition of {name} or an equation that restricts it: write "
            f"'Put ${to_latex(side)} := {to_latex(other)}$', or declare it as a hypothesis, 'Assume ${_formula(step)}$'"
        )
    return ""


def _formula(step: Step) -> str:
    return step.text.rsplit(r"\implies ", 1)[-1]


def _free_symbol(step: Step, side: Expr, other: Expr) -> str:
    """The symbol that a side is, or is an entry of, if nothing but its shape is known and the other side lacks it."""
    if not isinstance(side, Name | Sub):
        return ""
    known = step.context.symbols
    base: Expr = side
    name = symbol_name(base)
    while name not in known:
        if not isinstance(base, Sub):
            return ""
        base = base.base
        name = symbol_name(base)
    symbol = known[name]
    given = {n for chain, conditions in step.assumed for c in (chain, *conditions) for n in all_names(c)}
    tied = name in given or any(name in h.mentions for h in step.context.hypotheses)
    if symbol.kind not in _KINDS or symbol.law is not None or symbol.term is not None or tied:
        return ""
    reached = _reach(step, other)
    if isinstance(side, Sub) and symbol_name(side) not in known and not reached & set(known):
        return ""  # `v_1 = 0` says something of v
    return "" if name in reached else name


def _reach(step: Step, side: Expr) -> set[str]:
    """The symbols that a side depends on: those it mentions, their sizes and what defines them."""
    known = step.context.symbols
    found, fresh = set(all_names(side)), set(all_names(side))
    while fresh:
        fresh = {m for n in fresh if n in known for m in known[n].mentions} - found
        found |= fresh
    return found
