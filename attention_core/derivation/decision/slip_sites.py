r"""Which symbol has another index in a step than the sums around it, or the step itself, have.

$\sum_i y_1 x_i$ is one index away from $\sum_i y_i x_i$, and equal to it where all $y_i$ are alike. An author who knows
that they are writes $y_1 \sum_i x_i$: a fixed index in the place of one that runs is a slip of the pen, unless words
say what is alike. $\sum_i y_i x_i = y_1 \sum_i x_i$ is not a slip of the pen but the claim that they are, and is left
open. Where all of a side's indices of the symbol are fixed, as in $\sum_i q_i k_i = \sum_i q_i k_1$, the step may be
the place where its author uses it.
"""

from __future__ import annotations

from collections.abc import Iterator

from attention_core.derivation.latex.printer import all_names, symbol_name
from attention_core.derivation.latex.syntax import Big, Chain, Expr, Sub, children
from attention_core.derivation.reading.step import Step


def find_fixed_index(step: Step, changed: Step) -> str:
    """The symbol whose fixed index a change makes one that runs, or the other way round; '' for another change.

    Args:
        step: A false step.
        changed: The step with the change.
    """
    runs = _list_running(step)
    for before, after in ((step.left, changed.left), (step.right, changed.right)):
        if before != after:
            return _find_in(before, after, runs)
    return ""


def keeps_running_index(step: Step, changed: Step, symbol: str) -> bool:
    """Whether the side that is changed has the symbol with a running index, beside the fixed one.

    Args:
        step: A false step.
        changed: The step with the change.
        symbol: The symbol.
    """
    side, after = (step.left, changed.left) if step.left != changed.left else (step.right, changed.right)
    runs = _list_running(step)
    both = [list(_iterate_indices(one, symbol, runs)) for one in (side, after)]
    return all(True in one for one in both)


def pulls_out_of_sum(step: Step, changed: Step) -> bool:
    """Whether the side that is not changed has the fixed entries outside sums, and no others of their symbol.

    Args:
        step: A false step.
        changed: The step with the change.
    """
    symbol = find_fixed_index(step, changed)
    other = step.right if step.left != changed.left else step.left
    if not symbol or True in _iterate_indices(other, symbol, _list_running(step)):
        return False
    return symbol in _iterate_outside_sums(other)


def _iterate_outside_sums(node: object) -> Iterator[str]:
    """The symbols whose entries stand outside all sums."""
    if isinstance(node, Sub):
        yield symbol_name(node.base) or ""
    elif not isinstance(node, Big):
        for one in children(node):
            yield from _iterate_outside_sums(one)


def _list_running(step: Step) -> set[str]:
    """The indices that the context of a step knows."""
    return {name for name, symbol in step.context.symbols.items() if symbol.kind == "index"}


def _iterate_indices(node: object, symbol: str, runs: set[str]) -> Iterator[bool]:
    """Whether each entry of a symbol has a running index."""
    if isinstance(node, Sub):
        if symbol_name(node.base) == symbol:
            yield bool(runs & _names(node.items))
        return
    if isinstance(node, Big):
        runs = runs | {name for one in node.below for name in _names(one.exprs[:1])}
    for one in children(node):
        yield from _iterate_indices(one, symbol, runs)


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


__all__ = ["find_fixed_index", "keeps_running_index", "pulls_out_of_sum"]
