r"""Bars and the brackets behind \left and \right.

Which side a bar is on: | and \| open where an operand may start and close where one has ended.
A command such as \lvert or \left says it itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attention_core.derivation.latex.syntax import Unreadable

if TYPE_CHECKING:
    from attention_core.derivation.latex.lexer import Lexer


def _operand_before(lexer: Lexer) -> bool:
    """Whether the last token ends an operand, so that a bar closes."""
    ends = (
        "NUM",
        "NAME",
        "RPAR",
        "RBRACK",
        "RBRACE",
        "RBAR",
        "RNORM",
        "RSET",
        "TRANS",
        "DOTS",
        "ENDMAT",
        "INF",
    )
    return bool(lexer.out) and lexer.out[-1].kind in ends


def bar(lexer: Lexer, kind: str) -> None:
    """A bar opens where an operand may start and closes where one has ended."""
    if lexer.stack and lexer.stack[-1] == "L" + kind and _operand_before(lexer):
        lexer.close("R" + kind, "|", ("L" + kind,))
    else:
        lexer.open("L" + kind, "|")


def sided_bar(lexer: Lexer, side: str, kind: str) -> None:
    """A bar whose command may say which side it is."""
    if side == "l":
        lexer.open("L" + kind, "|")
    elif side == "r":
        lexer.close("R" + kind, "|", ("L" + kind,))
    else:
        bar(lexer, kind)


def sized(lexer: Lexer, which: str, end: int) -> int:
    r"""What follows `\left` or `\right`."""
    found = re.compile(r"\s*(\\(?:[a-zA-Z]+|.)|.)").match(lexer.text, end)
    if not found:
        raise Unreadable(f"\\{which} at the end misses its bracket", lexer.line)
    mark = found.group(1)
    if mark in ("|", r"\vert", r"\lvert", r"\rvert", r"\|", r"\Vert", r"\lVert", r"\rVert"):
        sided_bar(lexer, which[0], "NORM" if (mark[-1] == "|" and len(mark) > 1) or "V" in mark else "BAR")
    elif mark == ".":
        lexer.emit("GAP")
    elif mark.startswith("\\"):
        lexer.command(mark, found.end())
    else:
        lexer.punctuation(mark, found.end())
    return found.end()
