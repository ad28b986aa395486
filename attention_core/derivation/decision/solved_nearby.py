r"""Equations whose solution stands below them: "$2 (1 + t) - (1 + 2 t) = 1 + t$", then "$t = 0$".

Such an equation is not claimed of all values. It says which values its symbol has, and the line below says that it has
that one: the equation holds there. Where displays follow one another without a word between, an equation is solved by
any of them with a constant side: "$2 x - 1 = y - 1$", "$2 x - y = 0$".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.decision.usual import verdict_under
from attention_core.derivation.latex.printer import all_names, symbol_name, to_latex
from attention_core.derivation.latex.syntax import Name, Sub
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Finding
from attention_core.derivation.terms.terms import Relation

Decide = Callable[[Step, Sequence[Relation]], Finding]
VALUE = "a value, which states nothing: "  # see `displays`
BELOW = 6  # lines from an equation to the row or the display that solves it
MOST = 8  # displays of a run that are tried


def find_solution(step: Step, decide: Decide) -> str:
    """The equation below a step that gives a symbol of it a value at which the step holds, '' where none does.

    Args:
        step: A step that is false as it was read.
        decide: Decides a step under some more hypotheses.
    """
    if step.op != "=":
        return ""
    return next((one for one in _values_below(step) if verdict_under(step, one, decide) in GOOD), "")


def name_solution(step: Step, decide: Decide) -> str:
    """What to say of an equation that is solved below; '' of any other step.

    Args:
        step: A step that is false as it was read.
        decide: Decides a step under some more hypotheses.
    """
    found = find_solution(step, decide)
    return (
        f"it may be an equation to be solved: it holds at ${' '.join(found.split())}$, which stands below"
        if found
        else ""
    )


def _values_below(step: Step) -> Iterator[str]:
    """The equations right below a step that give one of its symbols a value, alone on a side."""
    names = collect_symbols(step)
    for line, note in step.context.understood:
        if 0 <= line - step.line <= BELOW and note.startswith(VALUE):
            yield note.removeprefix(VALUE).replace("&", "")
    for peer in step.peers:
        if not isinstance(peer, Step) or not 0 <= peer.line - step.line <= BELOW or peer is step or peer.op != "=":
            continue
        for side, other in ((peer.left, peer.right), (peer.right, peer.left)):
            name = symbol_name(side) if isinstance(side, Name | Sub) else None
            if name in names and not all_names(other):  # a number
                yield f"{to_latex(side)} = {to_latex(other)}"
    if not step.chained and not step.context.claims_all:
        for peer in islice(_list_run(step), MOST):
            for side, other in ((peer.left, peer.right), (peer.right, peer.left)):
                if all_names(side) & names and not all_names(other):
                    yield f"{to_latex(side)} = {to_latex(other)}"


def _list_run(step: Step) -> Iterator[Step]:
    """The equations below a step that follow one another without a word between, each alone in its display."""
    words = [one.line for one in step.far_words if one.line > step.line]
    end = min(words, default=None)
    below = [peer for peer in step.peers if isinstance(peer, Step) and peer.line > step.line and not peer.assumed]
    for peer in sorted(below, key=lambda one: one.line):
        if peer.chained or peer.op != "=" or (end is not None and peer.line > end):
            return
        yield peer
