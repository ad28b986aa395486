r"""Entries that a document counts from 0: of states 0 and 1, `W_{11}` is the last entry, and not the first.

Here entries count from 1. Where words say that something is counted from 0, or that states are 0 and 1, a step with a
numeral as an index has two readings, and gets a verdict only if both of them agree.
"""

from __future__ import annotations

import re
from dataclasses import replace

from attention_core.derivation.elaborate.functions import substitute
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Chain, Num, Sub, Times
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.step import Step
from attention_core.derivation.terms.context import has_entries

_SAYS = compile_quick(
    r"\b(?:zero|0)[- ](?:based|indexed)\b|"
    r"\b(?:count|number|ind(?:ex|ices)|label|start|begin)\w*[^.;]{0,30} (?:at|from|with) (?:zero|0)\b|"
    r"\b(?:states?|classes|indices|positions?|nodes|labels)\b[^.;\d]{0,20}(?:\{\s*)?\b0\s*(?:,|and|or|to)\s*1\b",
    re.IGNORECASE,
)
_SIGNS = re.compile(r"[$\\]")


def count_from_zero(step: Step) -> tuple[str, Step] | None:
    """A step with its numerals as indices one higher, where its document may count from 0; None elsewhere.

    Args:
        step: The step.

    Returns:
        Words for the reading, and the step in it.
    """
    known = step.context.symbols

    def shift(node: object) -> object | None:
        symbol = known.get(symbol_name(node.base) or "") if isinstance(node, Sub) else None
        if not isinstance(node, Sub) or symbol is None or symbol.kind == "family" or not has_entries(symbol):
            return None
        if symbol.params or symbol_name(node) in known:
            return None
        items = tuple(_shift_item(one) for one in node.items)
        return None if items == node.items else Sub(node.base, items)

    left, right = substitute(step.left, shift), substitute(step.right, shift)
    if (left, right) == (step.left, step.right):
        return None
    quotes = ((one.line, " ".join(_SIGNS.sub("", one.quote).split())) for one in step.far_words)
    line = next((line for line, quote in quotes if _SAYS.search(quote)), 0)
    if not line:
        return None
    words = f"with entries counted from 0, as line {line} may say; here they count from 1"
    return words, replace(step, left=left, right=right)  # type: ignore[arg-type]


def _shift_item(item: Chain) -> Chain:
    """A subscript with its numerals one higher: those of `W_{11}` are two."""
    match item:
        case Chain((Num(value),), ()):
            return Chain((Num(value + (11 if 10 < value < 100 else 1)),))
        case Chain((Times(factors, ops),), ()):
            return Chain((Times(tuple(Num(one.value + 1) if isinstance(one, Num) else one for one in factors), ops),))
    return item


__all__ = ["count_from_zero"]
