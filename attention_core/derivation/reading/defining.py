r"""Displays that define: `$$ L = \frac{1}{2} x^\top x $$` where nothing else determines L and the text goes on with it.

As a claim about a symbol that is free such a display would always be false, so it is read as what it is meant to be.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from attention_core.derivation.latex.printer import all_names, symbol_name
from attention_core.derivation.latex.syntax import Chain, Group, Minus, Name, Num, Sub
from attention_core.derivation.terms.context import Context


@dataclass(frozen=True)
class Around:
    """The displays before and behind a display in its section."""

    before: str = ""
    behind: str = ""


def defining(context: Context, chain: Chain, around: Around) -> str:
    """The symbol that the first equation of a display defines, '' if it is a claim.

    Args:
        context: What is declared above the display.
        chain: The relations of the display.
        around: What stands around it.
    """
    left = chain.exprs[0]
    if chain.ops[:1] != ("=",) or not isinstance(left, Name | Sub):
        return ""
    name, right = symbol_name(left), chain.exprs[1]
    if name is None or name in all_names(right) or isinstance(right, Name | Num | Minus | Group):
        return ""
    symbol = context.symbols.get(name)
    if symbol is None and (name in context.dropped or _entry(context, left)):
        return ""
    if symbol is not None and not _is_free(context, name):
        return ""
    return name if _mentions(around.behind, name) and not _mentions(around.before, name) else ""


def _entry(context: Context, left: Name | Sub) -> bool:
    """Whether the left side is a part of something that is declared."""
    return isinstance(left, Sub) and symbol_name(left.base) in context.symbols


def _is_free(context: Context, name: str) -> bool:
    """Whether nothing but its shape is known of a symbol."""
    symbol = context.symbols[name]
    plain = symbol.kind == "array" and symbol.lower is None and symbol.upper is None and not symbol.values
    bound = symbol.law is not None or symbol.term is not None
    tied = any(name in h.mentions for h in context.hypotheses) or any(
        name in other.mentions for other in context.symbols.values()
    )
    return plain and not bound and not tied


def _mentions(text: str, name: str) -> bool:
    """Whether displays mention a symbol, as far as its letters tell."""
    letters = re.sub(r"[{}\s]", "", name)
    bare = (
        re.sub(r"\\(?:mathbf|boldsymbol|mathrm|bm|mathcal|vec|hat)(?![a-zA-Z])|[{}\s]", "", text)
        if "_" in name
        else text
    )
    return bool(re.search(rf"(?<![a-zA-Z\\]){re.escape(letters)}(?![a-zA-Z])", bare))
