r"""Sides of equations that other symbols determine, so that an equation claims what they are and defines nothing.

`\sum_{k=1}^\infty k x^k` of a declared x is a number, whatever a display says: `= 1 / (1 - x)^2` claims something, and
is not a definition of the sum. So it is with integrals, limits, products and averages, and with a symbol of which a
sentence above says what it is that could not be read.
"""

from __future__ import annotations

import re

from attention_core.derivation.document.display import DisplayStatement
from attention_core.derivation.inference.usage import bound_letters, integrated_letters, is_constant, walk, whole_names
from attention_core.derivation.latex.syntax import Big, Expr, Name, Sub, Sup
from attention_core.derivation.terms.context import Context

_DETERMINED = ("sum", "prod", "int", "lim")


def is_claim(context: Context, written: DisplayStatement) -> bool:
    r"""Whether the first equation of a statement claims something of its left side, and cannot define it.

    Args:
        context: What is declared above it.
        written: The statement as it is written, before anything undeclared is read.
    """
    chains = written.statement.chains
    if len(chains) != 1 or chains[0].ops[:1] != ("=",) or written.defines:
        return False
    left = chains[0].exprs[0]
    if isinstance(left, Name | Sub | Sup):
        return False
    if isinstance(left, Big) and left.op in _DETERMINED:
        return True
    names = _free_names(left)
    return bool(names) and all(name in context.symbols and name not in context.inferred for name in names)


def _free_names(side: Expr) -> set[str]:
    """The symbols of a side but those that its sums, limits and integrals bind, and constants."""
    bound: set[str] = set()
    for node in walk(side):
        if isinstance(node, Big):
            bound |= bound_letters(node) if node.op not in ("int", "lim") else integrated_letters(node)
    return {name for name in whole_names(side) if name not in bound and not is_constant(name)}


def is_stated_above(context: Context, name: str) -> bool:
    """Whether a paragraph above that could not be read says by an equation what a symbol is.

    Args:
        context: What is declared, and what could not be read.
        name: The symbol.
    """
    letters = re.sub(r"[{}\s]", "", name)
    for failed in context.failed:
        for formula in re.split(r"(?<!\\)\$", failed.paragraph.text)[1::2]:
            head, sign, _ = re.sub(r"[{}\s]", "", formula).partition("=")
            if sign and re.sub(r":$|\(.*\)$", "", head) == letters:
                return True
    return False
