r"""Two gradients at once: `\nabla_x^2`, `\nabla^2_{xy}` and `\nabla_x \nabla_y^\top`, by two variables."""

from __future__ import annotations

import re

from attention_core.derivation.latex.braces import read_braces
from attention_core.derivation.latex.tokens import TokenStream

_LETTER = r"(?:\\[a-zA-Z]+\s*\{\s*\\?[a-zA-Z]+\s*\}|\\[a-zA-Z]+(?![a-zA-Z])|[a-zA-Z])"
_BELOW = rf"_\s*(?:{_LETTER}|\{{(?:[^{{}}]|\{{[^{{}}]*\}})*\}})"
_SQUARE = r"\^\s*(?:2|\{\s*2\s*\})"
_TRANSPOSE = r"\^\s*(?:\\top|\\intercal|T|\{\s*(?:\\top|\\intercal|T)\s*\})"
_TWICE = re.compile(rf"\s*(?:{_SQUARE}\s*(?P<after>{_BELOW})|(?P<first>{_BELOW})\s*{_SQUARE})")
_OUTER = re.compile(
    rf"\s*(?P<one>{_BELOW})\s*\\nabla\s*(?:{_TRANSPOSE}\s*(?P<two>{_BELOW})|(?P<last>{_BELOW})\s*{_TRANSPOSE})"
)
_PAIR = re.compile(rf"\s*({_LETTER})\s*,?\s*({_LETTER})\s*")


def read_hessian(lexer: TokenStream, end: int) -> int:
    r"""Emit what stands behind a `\nabla` that is a matrix of second derivatives, and return where the text goes on.

    Args:
        lexer: The lexer, at the sign.
        end: The place after the sign.

    Returns:
        The place after the variables; 0 of a gradient, and of anything else.
    """
    found, outer = _TWICE.match(lexer.text, end), _OUTER.match(lexer.text, end)
    if outer is not None:
        first, second = (read_braces(part, 1, lexer.line)[0] for part in (outer["one"], outer["two"] or outer["last"]))
    elif found is not None:
        first = second = read_braces(found["first"] or found["after"], 1, lexer.line)[0]
        if pair := _PAIR.fullmatch(first):
            first, second = pair[1], pair[2]
    else:
        return 0
    lexer.emit("NABLA", "")
    lexer.emit("UNDER")
    lexer.open("LBRACE", "{")
    lexer.lex_inner(second)  # rows belong to the first variable: the gradient by it is differentiated by the second
    lexer.emit("COMMA", ",")
    lexer.lex_inner(first)
    lexer.close("RBRACE", "}", ("LBRACE",))
    return outer.end() if outer is not None else found.end() if found is not None else 0
