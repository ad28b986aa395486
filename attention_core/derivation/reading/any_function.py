r"""Functions of which a document says that they are differentiable, and no more: `f : \mathbb{R} \to \mathbb{R}`.

Such a function is tried as $f(t) = a_0 + a_1 t + a_2 t^2 + a_3 t^3 + a_4 e^{a_5 t}$ with numbers that are drawn like
any others, and a convex one as $a_0 + a_1 t + a_2^2 t^2 + a_4^2 e^{a_5 t} + a_6^2 \sqrt{1 + (t - a_7)^2}$. What is
false of one of these is false, and the counterexample shows the function. What holds of all of them AGREES and is
never more: others may behave otherwise. The exponential keeps equations out that hold of polynomials alone, as that a
fourth derivative vanishes, and the root bounds whose fourth difference has a sign. The second derivative of a convex
function may change near one point while the function hardly does, so a step about it counts as decided only if it
holds with any square in its place as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.latex.syntax import (
    Chain,
    Expr,
    Frac,
    Group,
    Minus,
    Name,
    Num,
    Plus,
    Root,
    Sup,
    Times,
    names_in,
)
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.terms import SCALAR

_REAL = r"\\math(?:bb|bf)\s*\{?\s*R\s*\}?"
_FORM = re.compile(
    rf"\s*((?:\\?[a-zA-Z]+)(?:\s*,\s*\\?[a-zA-Z]+)*)\s*(?::|\\colon(?![a-zA-Z]))\s*{_REAL}\s*"
    rf"\\(?:to|rightarrow)(?![a-zA-Z])\s*{_REAL}\s*"
)
_POWERS = 3
_MARK = "any function, tried as "


def functions_in(formula: str) -> list[str]:
    r"""The names of `f, g : \mathbb{R} \to \mathbb{R}`, none of anything else.

    Args:
        formula: An inline formula.

    Example:
        >>> functions_in(r"f, g : \mathbb{R} \to \mathbb{R}"), functions_in(r"f : \mathbb{R}^n \to \mathbb{R}")
        (['f', 'g'], [])
    """
    found = _FORM.fullmatch(formula)
    return [name.strip() for name in found[1].split(",")] if found else []


_BY_WORDS = re.compile(
    r"\$\s*(?P<name>\\?[a-zA-Z]+)\s*\$ (?:is|be|denotes) (?:an?|any|some|the) (?:(?:fixed|scalar|real|smooth|"
    r"differentiable|non-?linear|activation|arbitrary)[ -])*(?:function|non-?linearity)(?: (?:that|which))?(?: is)? "
    r"(?:applied|acting|acts|applies) (?:element|entry|component|coordinate|point)-?wise(?: to [a-z ]+)?"
)


def spell_functions(text: str) -> str:
    r"""Write functions of numbers that words describe, "$f$ is a function applied entry-wise", as formulas.

    Args:
        text: A paragraph.

    Example:
        >>> spell_functions("Let $f$ be a smooth function applied element-wise.")
        'Let $f : \\mathbb{R} \\to \\mathbb{R}$.'
    """
    return _BY_WORDS.sub(lambda one: rf"${one['name']} : \mathbb{{R}} \to \mathbb{{R}}$", text)


def declare_function(context: Context, name: str, line: int, convex: bool = False) -> None:
    """Declare a function with its first two derivatives, and the numbers that it is made of.

    Args:
        context: What is declared; it is changed.
        name: The function.
        line: Its line.
        convex: Whether it is convex.
    """
    letters = [f"{name}_{{[{k}]}}" for k in range(_POWERS + (5 if convex else 3))]
    for one in letters:
        context.declare(Symbol(one, "array", line, context.level, SCALAR))
    bodies = _bodies(*(Name(one) for one in letters), convex=convex)
    for primes, body in enumerate(bodies):
        place = Symbol(name + "'" * primes, "function", line, context.level, params=("t",), body=body)
        context.declare(replace(place, mentions=frozenset(names_in(body)) - {"t", "e"}))
    context.understood.append((line, f"{name} is {_MARK}{name}(t) = {to_latex(bodies[0])}"))


def is_any_function(symbol: Symbol) -> bool:
    """Whether a symbol is such a function."""
    return symbol.kind == "function" and any("_{[" in name for name in symbol.mentions)


def describe_functions(context: Context, names: Iterable[str]) -> str:
    """What some of the names stand for where they are such functions, '' if none is.

    Args:
        context: What is declared.
        names: Names that occur in a step.
    """
    known = context.symbols
    heads = dict.fromkeys(n.rstrip("'") for n in sorted(names) if n in known and is_any_function(known[n]))
    return ", ".join(f"{one}(t) = {to_latex(known[one].body)}" for one in heads if one in known)


def _bodies(*numbers: Expr, convex: bool) -> tuple[Expr, Expr, Expr]:
    """A function of t and its first two derivatives."""
    a0, a1, a2, a3, a4, a5, *more = numbers
    t, e = Name("t"), Sup(Name("e"), Times((a5, Name("t")), ("",)))
    if convex:
        squared, grown = _power(a2, 2), _product(_power(a4, 2), e)
        first, share = _product(_power(a4, 2), a5, e), _power(more[0], 2)
        gap = _in_brackets(Plus((t, Minus(more[1]))))
        root = Root(Plus((_number(1), _power(gap, 2))))
        return (
            Plus((a0, _product(a1, t), _product(squared, _power(t, 2)), grown, _product(share, root))),
            Plus((a1, _product(_number(2), squared, t), first, Frac(_product(share, gap), root))),
            Plus(
                (
                    _product(_number(2), squared),
                    _product(_power(a4, 2), _power(a5, 2), e),
                    Frac(share, _power(root, 3)),
                )
            ),
        )
    return (
        Plus((a0, _product(a1, t), _product(a2, _power(t, 2)), _product(a3, _power(t, 3)), _product(a4, e))),
        Plus((a1, _product(_number(2), a2, t), _product(_number(3), a3, _power(t, 2)), _product(a4, a5, e))),
        Plus((_product(_number(2), a2), _product(_number(6), a3, t), _product(a4, _power(a5, 2), e))),
    )


def loosen_second(context: Context, names: Iterable[str]) -> Context | None:
    """A context where the second derivatives of convex functions are any squares; None where a step holds none.

    Args:
        context: What is declared.
        names: The names of a step.
    """
    out = context.copy()
    for name in sorted(names):
        known = context.symbols.get(name)
        if known is None or not name.endswith("''") or not is_any_function(known) or _is_of_any_sign(known):
            continue
        letters = [f"{name}_{{[{k}]}}" for k in range(_POWERS)]
        for one in letters:
            out.declare(Symbol(one, "array", known.line, known.level, SCALAR))
        b0, b1, b2 = (Name(one) for one in letters)
        whole = Plus((b0, _product(b1, Name("t")), _product(b2, _power(Name("t"), 2))))
        body = _power(_in_brackets(whole), 2)
        out.symbols[name] = replace(known, body=body, mentions=frozenset(letters))
    return out if out.symbols.keys() != context.symbols.keys() else None


def _is_of_any_sign(symbol: Symbol) -> bool:
    """Whether this belongs to a function that is only differentiable: it has fewer numbers."""
    return not any(f"_{{[{_POWERS + 4}]}}" in name for name in symbol.mentions) and "sqrt" not in to_latex(symbol.body)


def _in_brackets(expr: Expr) -> Expr:
    return Group("(", (Chain((expr,)),), ")")


def _number(value: int) -> Num:
    return Num(Fraction(value))


def _power(base: Expr, exponent: int) -> Expr:
    return Sup(base, _number(exponent))


def _product(*factors: Expr) -> Expr:
    return Times(tuple(factors), ("",) * (len(factors) - 1))
