"""Symbols that a display may define: those that nothing else determines, alone on the left of an equation."""

from __future__ import annotations

import re
from fractions import Fraction

from attention_core.derivation.elaborate.functions import function_form
from attention_core.derivation.inference.eigenvalues import is_eigenvalue
from attention_core.derivation.inference.loose_forms import TERMS
from attention_core.derivation.inference.opaque import is_average
from attention_core.derivation.inference.usage import walk, whole_names
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Chain, Group, Minus, Name, Num, Sub, Sup
from attention_core.derivation.latex.tokens import UNREAD_OPERATIONS
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.relevance import is_slope_of_known

_OPERATION = re.compile(rf" \\(?:otimes|{'|'.join(sorted(UNREAD_OPERATIONS - {'x'}))}) ")  # of `a \oplus b`: no name


def definable(context: Context, chain: Chain) -> str:
    """The symbol that the first equation of a chain defines if nothing else does, '' if it is a claim.

    Args:
        context: What is declared.
        chain: The relations of a display.
    """
    if chain.ops[:1] not in (("=",), (":=",)) or TERMS in context.loose:
        return ""
    left, right = chain.exprs[0], chain.exprs[1]
    form = function_form(left)
    if form is not None and len(form[1]) == 1 and is_eigenvalue(context, form[0], Chain((Name(form[1][0]),))):
        return ""
    if form is not None:
        new = form[0] not in context.symbols and form[0] not in whole_names(right) and not _has_value(context, form[0])
        return form[0] if new and not is_slope_of_known(context, form[0]) else ""
    if not isinstance(left, Name | Sub | Sup) or (isinstance(left, Name) and _OPERATION.search(left.text)):
        return ""
    left, name = (left, symbol_name(left)) if symbol_name(left) is not None else _deviation(left)
    base = symbol_name(left.base) if isinstance(left, Sub) else name
    bracketed = isinstance(right, Group) and right.bracket == "(" and len(right.items) == 1 and right.items[0].alone
    plain = isinstance(right, Num) or (isinstance(right, Minus) and isinstance(right.body, Num))
    plain = plain or (isinstance(right, Group) and not bracketed and not right.semicolons)
    if (
        name is None
        or name in context.related
        or plain
        or is_average(name)
        or not (name not in context.symbols or _is_open(context, name))
    ):
        return ""
    if (base != name and base in context.symbols) or is_power(context, name):
        return ""
    parts = (node for node in walk(right) if isinstance(node, Sub) and symbol_name(node) not in context.symbols)
    if any(symbol_name(node.base) == name for node in parts):
        return ""  # x = [x_1, ..., x_n], and not W = W_0 + A B of a W_0 that is declared itself
    head, bracket, inside = name.partition("(")
    if bracket and _EVENT.search(inside) and any(_is_in(n, inside) for n, one in context.symbols.items() if one.law):
        return ""  # of the probability of an event, whatever its letter is
    if bracket and any(one.startswith(head + bracket) for one in whole_names(right)):
        return ""  # f(x) = f(x + 1) is a claim about f
    if bracket and _VALUE.fullmatch(name) and _has_value(context, head):
        return ""
    return "" if {name, base} & _collect_mentions(context, whole_names(right)) else name


_POWER = re.compile(r"\^\{?(?![*+]\}?$)[^{}()*\\'\"]+\}?$")


def is_power(context: Context, name: str) -> bool:
    """Whether a name is a power of a number or of a square matrix that is declared or defined, as `A^{k}` is.

    Args:
        context: What is declared.
        name: The name.
    """
    found = _POWER.search(name)
    base = None if found is None else context.symbols.get(name[: found.start()])
    if base is None or base.kind == "family" or base.name in context.inferred:
        return False
    kind = base.type if base.term is None else base.term.type
    return kind is not None and (kind.scalar or (kind.kind == "matrix" and kind.rows == kind.cols))


_VALUE = re.compile(r"(?P<head>[^(]+)\((?P<arguments>\\?[A-Za-z]+(?:, \\?[A-Za-z]+)*)\)")


_EVENT = re.compile(r"[=<>]|\\(?:[lg]eq?|neq?|in|mid)(?![A-Za-z])")


def _is_in(name: str, text: str) -> bool:
    """Whether a text mentions a name."""
    return re.search(rf"(?<![A-Za-z\\]){re.escape(name)}(?![A-Za-z])", text) is not None


def _has_value(context: Context, function: str) -> bool:
    """Whether a value of a function at letters is defined, as `g(x)` by `g(x) = u^2`, which does not show its x."""
    values = (_VALUE.fullmatch(name) for name, symbol in context.symbols.items() if symbol.term is not None)
    return any(value is not None and value["head"] == function for value in values)


def _is_open(context: Context, name: str) -> bool:
    """Whether a symbol is read as any number or array, so that an equation may say which."""
    symbol = context.symbols[name]
    return name in context.inferred and symbol.kind == "array" and symbol.term is None and not symbol.params


def _collect_mentions(context: Context, names: set[str]) -> set[str]:
    """Names, and those that their declarations mention."""
    out: set[str] = set()
    waiting = sorted(names)
    while waiting:
        name = waiting.pop()
        if name not in out:
            out.add(name)
            waiting += sorted(context.symbols[name].mentions) if name in context.symbols else []
    return out


_DEVIATION = re.compile(r"(?:\\(?:hat|tilde|bar)\{)?(?:\\sigma|\\tau|s)\}?(?:_\{.*\})?")


def _deviation(left: Name | Sub | Sup) -> tuple[Name | Sub | Sup, str | None]:
    r"""A deviation, which `\sigma^2 = ...` defines as the root, and its name; no name of what may be negative."""
    base = left.base if isinstance(left, Sup) and left.exponent == Num(Fraction(2)) else None
    name = symbol_name(base) if isinstance(base, Name | Sub) else None
    known = isinstance(base, Name | Sub) and name is not None and _DEVIATION.fullmatch(name)
    return (base, name) if known and isinstance(base, Name | Sub) else (left, None)
