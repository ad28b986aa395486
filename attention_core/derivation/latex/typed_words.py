r"""Words that are typed without a backslash: `log x`, `sqrt(d)`, `KL(p \| q)`, `LayerNorm(x)`.

Letters in a row are a product, one symbol each. These words are none: a function that LaTeX knows and that stands by
itself in front of what it is of, and a name in front of a bracket that is written as names of functions are.
"""

from __future__ import annotations

import re

from attention_core.derivation.latex.tokens import FUNCTIONS, WRITTEN, TokenStream

_PLAIN = frozenset(
    [
        "log",
        "ln",
        "exp",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "arctan",
        "arcsin",
        "arccos",
        "softmax",
        "sigmoid",
    ]
) | {"ReLU", "relu", "diag"}
_OPERATORS = frozenset(["max", "min", "sup", "inf", "argmax", "argmin"])
_OPERAND = re.compile(r"\s*(?:\\(?!\\|left|big|Big|end|text|q?quad|[,;:! ])|[A-Za-z0-9])")
_CALLED = re.compile(r"\s*(?:\\(?:left|[bB]igg?l?)\s*)?[(\[]")
_DIVIDED = re.compile(r"\\\||\|\||\\(?:parallel|mid|Vert)(?![a-zA-Z])")
_NAMED = re.compile(r"[A-Z][a-z]{2,}[A-Za-z]*|[A-Z]{2,}[a-z]+[A-Za-z]*")
_DIVERGENCE = re.compile(r"KL|JS|TV")
_ROOT = re.compile(r"\s*\(")


def read_typed_word(lexer: TokenStream, value: str, end: int) -> int:
    """Emit a word that is typed without a backslash, and return where the text goes on; 0 if it is a product.

    Args:
        lexer: The lexer, in front of the word.
        value: The letters in a row.
        end: The place after them.
    """
    if value in _PLAIN and _OPERAND.match(lexer.text, end):
        lexer.emit("FUNC", FUNCTIONS[value])
        return end
    if value in _OPERATORS and lexer.text[end : end + 1] == "_":
        lexer.emit("BIGOP", value)
        return end
    if value == "sqrt" and _ROOT.match(lexer.text, end) and (closed := _closing(lexer.text, end)):
        inner = lexer.text[lexer.text.index("(", end) + 1 : closed - 1]
        lexer.emit("SQRT")
        lexer.open("LBRACE", "{")
        lexer.lex_inner(inner)
        lexer.close("RBRACE", "}", ("LBRACE",))
        return closed
    if value == "rank" and _CALLED.match(lexer.text, end):
        lexer.emit("FUNC", WRITTEN[value])
        return end
    if not _CALLED.match(lexer.text, end) or value in FUNCTIONS:
        return 0
    named = _NAMED.fullmatch(value)
    if not named and _DIVERGENCE.fullmatch(value):
        closed = _closing(lexer.text, end)
        named = _DIVIDED.search(lexer.text, end, closed or end)
    if named:
        lexer.emit("NAME", f"\\text{{{value}}}")
        return end
    return 0


def _closing(text: str, start: int) -> int:
    """The place after the bracket that closes the first one from a place on, 0 without."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] in "([") - (text[place] in ")]")
        if depth == 0 and text[place] in ")]":
            return place + 1
    return 0
