r"""Integers as differences of sizes: $k \in \mathbb{Z}$ is k⁺ - k⁻, where k⁺ and k⁻ are 1 at least."""

from __future__ import annotations

from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.terms import Size, size_term

PLUS, MINUS = "⁺", "⁻"  # after the letter of an integer: the sizes whose difference it is


def make_integer(context: Context, name: str, line: int, lowest: Size | None = None) -> Symbol:
    """An integer that is not declared yet, as a difference of sizes that are.

    Args:
        context: What is declared; the sizes are added to it.
        name: The letter of the integer.
        line: Where it is declared.
        lowest: The least value it has, None if it has none: with one it is a single size less a number.
    """
    parts = [f"{name}{sign}" for sign in (PLUS, MINUS)][: 2 if lowest is None else 1]
    for part in parts:
        context.declare(Symbol(part, "size", line, context.level))
    less = Size.symbol(parts[1]) if lowest is None else Size.number(1) + -lowest
    term = size_term(Size.symbol(parts[0]) + -less)
    return Symbol(name, "definition", line, context.level, term=term, mentions=frozenset(parts), whole=True)


def is_integer(symbol: Symbol) -> bool:
    """Whether a symbol stands for any integer, or any from some number on.

    Args:
        symbol: The symbol.
    """
    return symbol.kind == "definition" and symbol.whole and not symbol.params
