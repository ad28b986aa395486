r"""Functions that a document does not define: `f(x)` and `p(x \mid z)` as symbols of their own.

What holds whatever number f(x) is holds of every function. Behind a sum `f(x_i)` is a family. Within a derivative
nothing is replaced, since how f depends on x is what counts there; a derivative by a symbol that is defined itself, as
in a chain rule, is one symbol.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attention_core.derivation.inference.usage import DELTA, Usage, bound_letters, is_ordinary
from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Big,
    Call,
    Chain,
    Derivative,
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


def is_opaque(name: str) -> bool:
    """Whether a name is that of a function at its argument."""
    return name.endswith((")", "]")) and ("(" in name or "[" in name)


AVERAGES = ("E", "Var", "Cov", "Pr")  # those over a law that a subscript names


def _join(chains: Iterable[Chain]) -> str:
    return ", ".join(to_latex(chain) for chain in chains)


class Opaque:
    """Replaces values of unknown functions by symbols, in one section."""

    def __init__(self, context: Context, usage: Usage) -> None:
        self.context = context
        known = {name for name, symbol in context.symbols.items() if name not in context.inferred or symbol.body}
        self.functions = usage.functions - known

    def chains(self, chains: Iterable[Chain]) -> list[Chain]:
        """The chains with symbols in the place of what unknown functions give."""
        return [self.replace(chain, frozenset()) for chain in chains]

    def replace(self, node: Any, bound: frozenset[str]) -> Any:
        """A tree with symbols in the place of what unknown functions give."""
        if isinstance(node, tuple):
            return tuple(self.replace(one, bound) for one in node)
        if isinstance(node, Derivative):
            return self.slope(node, bound)
        if not children(node):
            return node
        if isinstance(node, Frac) and is_ordinary(self.context, node):
            return node
        if isinstance(node, Big):
            bound = bound | bound_letters(node)
        if isinstance(node, Times):
            return self.product(node, bound)
        if isinstance(node, Call) and node.sub and node.function in AVERAGES and not names_in(node) & bound:
            return Name(f"{node.function}_{{{_join(node.sub)}}}[{_join(node.args)}]")
        fields = {name: self.replace(getattr(node, name), bound) for name in node.__slots__}
        return type(node)(**fields)

    def slope(self, node: Derivative, bound: frozenset[str]) -> Expr:
        """A derivative, as one symbol where it is by something that is defined itself: the steps of a chain rule."""
        symbols = [self.context.symbols.get(self.base(one)) for one in node.by]
        if not any(symbol is not None and symbol.kind == "definition" for symbol in symbols):
            return node
        body = f"\\partial({to_latex(_without(node.body, names_in(node) & bound))})"
        by = ", ".join(to_latex(_without(one, names_in(node) & bound)) for one in node.by)
        return _at_letters(Name(f"{body} / \\partial({by})"), names_in(node) & bound)

    def base(self, variable: Expr) -> str:
        """The symbol that a variable is, or is an entry of."""
        name = symbol_name(variable) or ""
        while name not in self.context.symbols and isinstance(variable, Sub):
            variable = variable.base
            name = symbol_name(variable) or ""
        return name

    def product(self, node: Times, bound: frozenset[str]) -> Expr:
        """Factors, where a function stands in front of its argument."""
        factors, ops = list(node.factors), list(node.ops)
        place = 0
        while place < len(factors):
            name = symbol_name(factors[place])
            called = None
            if place < len(ops) and not ops[place] and name == DELTA.strip() and name not in self.context.symbols:
                called = _increment(factors[place + 1])
            elif place < len(ops) and not ops[place] and name in self.functions:
                called = self.value(factors[place], factors[place + 1], bound)
            if called is None:
                factors[place] = self.replace(factors[place], bound)
            else:
                factors[place : place + 2] = [called]
                del ops[place]
            place += 1
        return Times(tuple(factors), tuple(ops)) if ops else factors[0]

    def value(self, head: Expr, argument: Expr, bound: frozenset[str]) -> Expr | None:
        """The symbol for `f(x)`, with what stands above and below it; None where no bracket follows."""
        match argument:
            case Group("(" | "[" as bracket, items, close):
                if bracket == "[" and all(item.alone for item in items):
                    return None
                letters = names_in(items) & bound
                inside = ", ".join(to_latex(_without(item, letters)) for item in items)
                return _at_letters(Name(f"{to_latex(head)}{bracket}{inside}{close}"), letters)
            case Sup(base, exponent):
                inner = self.value(head, base, bound)
                return None if inner is None else Sup(inner, self.replace(exponent, bound))
            case Transpose(base, letter):
                inner = self.value(head, base, bound)
                return None if inner is None else Transpose(inner, letter)
            case Sub(base, items):
                inner = self.value(head, base, bound)
                return None if inner is None else Sub(inner, items)
        return None


def _increment(expr: Expr) -> Expr | None:
    r"""`\Delta W` as one symbol."""
    match expr:
        case Name(text):
            return Name(f"{DELTA}{text}")
        case Sub(base, items):
            inner = _increment(base)
            return None if inner is None else Sub(inner, items)
        case Transpose(base, letter):
            inner = _increment(base)
            return None if inner is None else Transpose(inner, letter)
    return None


def _at_letters(name: Name, letters: set[str]) -> Expr:
    """A symbol, or a member of a family if indices that are bound around it stand in it."""
    return Sub(name, tuple(Chain((Name(letter),)) for letter in sorted(letters))) if letters else name


def _without(node: Any, letters: set[str]) -> Any:
    """A tree with a dot in the place of each of some letters."""
    if isinstance(node, Name):
        return Name(r"\cdot") if node.text in letters else node
    if isinstance(node, tuple):
        return tuple(_without(one, letters) for one in node)
    if not children(node):
        return node
    return type(node)(**{field: _without(getattr(node, field), letters) for field in node.__slots__})
