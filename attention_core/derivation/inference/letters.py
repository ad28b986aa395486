r"""What the formulas of a section together say of a letter.

Whether it numbers layers, is the d of differentials, marks transposes, or is the index that a sum does not name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from attention_core.derivation.inference.usage import DELTA, bound_letters, index_parts, integrated_letters, walk
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import (
    Big,
    Chain,
    Expr,
    Frac,
    Group,
    Name,
    Sub,
    Sup,
    Times,
    Transpose,
    children,
    names_in,
)
from attention_core.derivation.terms.context import Context

LAYERS = frozenset(["l", r"\ell", "L"])
FEWEST_BASES = 3  # with the number of a layer above them: weights, biases or activations


def layers_in(formulas: Iterable[Chain]) -> set[str]:
    r"""The letters that number layers: they stand above weights and above other symbols, as in `W^l a^{l - 1} + b^l`.

    Args:
        formulas: The formulas of a section.

    Returns:
        The letters l, \ell and L, if three symbols have one of them above, one of these a capital; else nothing.
    """
    bases: set[str] = set()
    letters: set[str] = set()
    for node in (one for formula in formulas for one in walk(formula)):
        if isinstance(node, Sup) and names_in(node.exponent) and names_in(node.exponent) <= LAYERS:
            base = symbol_name(node.base.base if isinstance(node.base, Sub) else node.base)
            if base is not None and base != "e":
                bases.add(base)
                letters |= names_in(node.exponent)
    return letters if len(bases) >= FEWEST_BASES and any(base[:1].isupper() for base in bases) else set()


def add_missing_index(chain: Chain) -> Chain:
    r"""The chain with an index at each sum that has none: `\sum e^{x_j}` runs over the one letter that is free in it.

    Args:
        chain: A written chain.

    Returns:
        The chain as it is where no letter, or more than one, may be meant.
    """
    sums = [one for one in walk(chain) if isinstance(one, Big) and one.op in ("sum", "prod") and not one.below]
    if not sums or any(one.above is not None for one in sums):
        return chain
    inside = Counter(name for one in sums for name in _subscript_letters(one))
    bound = {name for one in walk(chain) if isinstance(one, Big) for name in bound_letters(one)}
    everywhere = Counter(_subscript_letters(chain))
    free = [name for name in inside if inside[name] == everywhere[name] and name not in bound]
    if len(free) != 1 or any(free[0] not in _subscript_letters(one) for one in sums):
        return chain
    index = (Chain((Name(free[0]),)),)

    def put(node: Any) -> Any:
        if isinstance(node, tuple):
            return tuple(put(one) for one in node)
        if not children(node):
            return node
        fields = {name: put(getattr(node, name)) for name in node.__slots__}
        return replace(type(node)(**fields), below=index) if any(node is one for one in sums) else type(node)(**fields)

    out: Chain = put(chain)
    return out


def _subscript_letters(node: object) -> list[str]:
    """The single letters that stand as subscripts in a tree."""
    parts = [part for one in walk(node) if isinstance(one, Sub) for part in index_parts(one)]
    return [part.text for part in parts if isinstance(part, Name) and len(part.text) == 1]


def leads_everywhere(letter: str, formulas: Iterable[Chain]) -> bool:
    """Whether a letter stands in front of another factor wherever it occurs, as the d of a differential does."""
    count = led = 0
    for node in (one for formula in formulas for one in walk(formula)):
        count += node == Name(letter)
        if isinstance(node, Times):
            led += sum(is_d(one) and not op for one, op in zip(node.factors, node.ops, strict=False))
        elif isinstance(node, Frac):
            led += node.top == Name(letter)
    return 0 < count <= led


def stands_above_everywhere(letter: str, formulas: Iterable[Chain]) -> bool:
    """Whether a letter is an exponent wherever it occurs, more than once: it may be the mark of a transpose."""
    nodes = [node for formula in formulas for node in walk(formula)]
    count = sum(node == Name(letter) for node in nodes)
    return 1 < count == sum(isinstance(node, Sup) and node.exponent == Name(letter) for node in nodes)


def is_d(expr: Expr) -> bool:
    """Whether a factor is a d, `d^2` or `d_Q` that may stand in front of what is differentiated."""
    return expr == Name("d") or (isinstance(expr, Sup | Sub) and expr.base == Name("d"))


def is_explicit(context: Context, node: Big) -> bool:
    r"""Whether an integral has no function in it that nothing defines, as `p(x)` is, and is over numbers.

    Args:
        context: What is declared there.
        node: The integral.
    """
    letters = integrated_letters(node)
    if not letters or any(isinstance(one, Big) and one.op != "int" for one in walk(node)):
        return False
    products = [one for one in walk(node.body) if isinstance(one, Times)]
    pairs = [pair for one in products for pair in zip(one.factors, one.ops, one.factors[1:], strict=False)]
    for head, op, inside in pairs:
        name = symbol_name(head)
        symbol = context.symbols.get(name or "")
        if name is None or op or not isinstance(inside, Group) or inside.bracket != "(":
            continue
        if (symbol is None or symbol.kind != "function") and _names_arguments(inside):
            return False
    known = (context.symbols.get(name) for name in names_in(node.body) - letters)
    return all(one is None or one.kind == "function" or one.type is None or one.type.scalar for one in known)


def _names_arguments(node: Group) -> bool:
    """Whether a bracket holds nothing but names, or something under a condition."""
    return all("mid" in one.ops or (one.alone and symbol_name(one.exprs[0]) is not None) for one in node.items)


def find_increment(expr: Expr) -> Expr | None:
    r"""`\Delta W` as one symbol."""
    match expr:
        case Name(text):
            return Name(f"{DELTA}{text}")
        case Sub(base, items):
            inner = find_increment(base)
            return None if inner is None else Sub(inner, items)
        case Transpose(base, letter):
            inner = find_increment(base)
            return None if inner is None else Transpose(inner, letter)
    return None
