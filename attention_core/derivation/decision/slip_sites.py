r"""Which symbol has another index in a step than the sums around it, or the step itself, have.

$\sum_i y_1 x_i$ is one index away from $\sum_i y_i x_i$, and equal to it where all $y_i$ are alike. An author who knows
that they are writes $y_1 \sum_i x_i$: a fixed index in the place of one that runs is a slip of the pen, unless words
say what is alike.
"""

from __future__ import annotations

from attention_core.derivation.latex.printer import all_names, symbol_name
from attention_core.derivation.latex.syntax import Big, Chain, Expr, Sub, children
from attention_core.derivation.reading.step import Step


def find_fixed_index(step: Step, changed: Step) -> str:
    """The symbol whose fixed index a change makes one that runs, or the other way round; '' for another change.

    Args:
        step: A false step.
        changed: The step with the change.
    """
    runs = {name for name, symbol in step.context.symbols.items() if symbol.kind == "index"}
    for before, after in ((step.left, changed.left), (step.right, changed.right)):
        if before != after:
            return _find_in(before, after, runs)
    return ""


def _find_in(before: object, after: object, runs: set[str]) -> str:
    first, second = children(before), children(after)
    if isinstance(before, Sub) and isinstance(after, Sub) and before.base == after.base:
        old, new = (runs & _names(one.items) for one in (before, after))
        return symbol_name(before.base) or "" if bool(new) != bool(old) else ""
    if type(before) is not type(after) or len(first) != len(second):
        return ""
    pairs = [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]
    if len(pairs) != 1:
        return ""
    bound = {name for one in before.below for name in _names(one.exprs[:1])} if isinstance(before, Big) else set()
    return _find_in(*pairs[0], runs | bound)


def _names(parts: tuple[Chain, ...] | tuple[Expr, ...]) -> set[str]:
    return {name for one in parts for name in all_names(one)}


__all__ = ["find_fixed_index"]
