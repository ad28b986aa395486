r"""Forms that a statement is read without: symbols of their own, where nothing else can be made of it.

They are noted of the whole statement. A relation of its chain that has none of them is read as any other.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from attention_core.derivation.elaborate.indicators import ONES
from attention_core.derivation.inference.usage import is_ordinary, letter_of, walk
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import (
    Array,
    Big,
    Call,
    Chain,
    Derivative,
    Dots,
    Expr,
    Frac,
    Group,
    Minus,
    Name,
    Num,
    Plus,
    Sub,
    Sup,
    Times,
    Unreadable,
    names_in,
)
from attention_core.derivation.terms.context import Context

TERMS = "terms"
"""What a statement is read by where nothing else fits: each of its terms is a number, and a symbol of its own."""

LOOSENS = {
    "arrays with dots": (
        "the dots do not stand",
        "follow no single pattern",
        "write a row as",
        "dots need",
        "al dots",
    ),
    "powers of matrices": ("the exponent of a matrix", "has no power"),
    "quotients of arrays": ("cannot divide",),
    "arrays of blocks": ("cannot be compared", "blocks with different", " is not a "),
    "functions of arrays": ("softmax takes", "not understood of these arguments", "a square matrix is needed"),
    "derivatives": ("more than two indices", "nothing is differentiated by it"),
    "values by cases": ("an indicator compares",),
    "sums without a range": ("the range of the index", "as a set of indices", r"\infty is only understood"),
    "letters with an index": ("is a family: write", "was defined with an index", "has no entries", "is not declared"),
}
"""Forms that are read as symbols of their own where nothing else can be made of them, and the messages that say so."""


def keep_loose_forms(context: Context, text: str, line: int) -> Context:
    """The context of a relation, without the forms that its statement is read without if it has none of them.

    Args:
        context: What its statement was read with.
        text: The relation, as LaTeX.
        line: Its line.
    """
    if not context.loose or TERMS in context.loose:
        return context
    with suppress(Unreadable):
        if not any(is_loose(node, context) for node in walk(parse_statement(text, line).chains)):
            context = context.copy()
            context.loose = frozenset()
    return context


def is_loose(node: Any, context: Context) -> bool:
    """Whether a node has a form that is a symbol of its own here, since the statement cannot be read otherwise.

    Args:
        node: A node of a formula.
        context: What its statement was read with.
    """
    match node:
        case Array(rows):
            dotted = "arrays with dots" in context.loose and Dots() in [cell for row in rows for cell in row]
            return dotted or "arrays of blocks" in context.loose
        case Group(bracket, items) if len(items) > 1:
            dotted = bracket == "(" or any(one.exprs[0] == Dots() for one in items)
            return "arrays with dots" in context.loose and dotted
        case Frac(_, Name() | Sub()) if "quotients of arrays" in context.loose:
            return True
        case Times(parts) | Plus(parts) if Dots() in parts or Minus(Dots()) in parts:
            return "arrays with dots" in context.loose
        case Big(op) if op in ("sum", "prod", "max", "min"):
            return "sums without a range" in context.loose
        case Sub(Name(base)) if base not in (ONES, "I", r"\mathbf{0}", "e"):
            return "letters with an index" in context.loose
        case Group("(", (Chain((Plus(),)),)) if ONES in names_in(node):
            return "values by cases" in context.loose
        case Sup(base, exponent) if not isinstance(exponent, Num | Minus) or not is_capital(base):
            return "powers of matrices" in context.loose and base != Name("e") and exponent != Name("*")
        case Call(function) if function in ("softmax", "argmax", "lse", "diag", "attention", "vec", "rank", "pinv"):
            return "functions of arrays" in context.loose
        case Derivative():
            return "derivatives" in context.loose
        case Frac():
            return "derivatives" in context.loose and is_ordinary(context, node)
    return False


def is_capital(base: Expr) -> bool:
    """Whether what has a power is a capital letter, and so may be a matrix."""
    return letter_of(symbol_name(base) or "a").lstrip("\\")[:1].isupper()
