r"""Commands that many authors define, and those of physics, bm and mathtools: what they mean without a definition.

A definition in the document takes precedence. Each handler takes the lexer it works for, with the place after the
command, and returns where the text goes on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from attention_core.derivation.latex.braces import read_braces
from attention_core.derivation.latex.tokens import TokenStream

Handler: TypeAlias = Callable[[TokenStream, str, int], int]


def make_token(kind: str, value: str = "") -> Handler:
    """Return the handler of a command that is one token.

    Args:
        kind: The kind of the token.
        value: Its value.
    """

    def emit(lexer: TokenStream, name: str, end: int) -> int:
        lexer.emit(kind, value)
        return end

    return emit


def _bars(kind: str) -> Handler:
    r"""`\norm{x}` and `\abs{x}`."""

    def emit(lexer: TokenStream, name: str, end: int) -> int:
        inner, after = read_braces(lexer.text, end, lexer.line)
        lexer.open(f"L{kind}", "|")
        lexer.lex_inner(inner)
        lexer.close(f"R{kind}", "|", (f"L{kind}",))
        return after

    return emit


def _argument_of(which: str) -> Handler:
    r"""`\argmin_x`, an operator; without something below it, a name."""

    def emit(lexer: TokenStream, name: str, end: int) -> int:
        below = lexer.text[end:].lstrip().startswith(("_", r"\limits"))
        lexer.emit("BIGOP" if below else "NAME", which if below else f"\\text{{{which}}}")
        return end

    return emit


_BRACED = re.compile(r"\s*\{")
_DEGREE = re.compile(r"\s*\[([^\[\]]*)\]")


def _written_as(count: int, form: str, braced: bool = True) -> Handler:
    r"""A command whose arguments, in braces or without them, stand in a longer form."""
    mark = "{{{}}}" if braced else "{}"

    def emit(lexer: TokenStream, name: str, end: int) -> int:
        given: list[str] = []
        while len(given) < count:
            inner, end = read_braces(lexer.text, end, lexer.line)
            given.append(inner)
        lexer.lex_inner(re.sub(r"#(\d)", lambda found: mark.format(given[int(found[1]) - 1]), form))
        return end

    return emit


def _braket(lexer: TokenStream, name: str, end: int) -> int:
    r"""`\braket{x}`, an average, and `\braket{a}{b}` of physics, an inner product."""
    inner, end = read_braces(lexer.text, end, lexer.line)
    if lexer.text.startswith("{", end):
        other, end = read_braces(lexer.text, end, lexer.line)
        inner = f"{{{inner}}}, {{{other}}}"
    lexer.lex_inner(rf"\langle {inner} \rangle")
    return end


def _slope(sign: str) -> Handler:
    r"""`\dv{f}{x}`, `\pdv[2]{f}{x}` and `\dv{x}` of physics."""

    def emit(lexer: TokenStream, name: str, end: int) -> int:
        degree = _DEGREE.match(lexer.text, end)
        power = f"^{{{degree[1]}}}" if degree else ""
        top, end = read_braces(lexer.text, degree.end() if degree else end, lexer.line)
        bottom = ""
        if _BRACED.match(lexer.text, end):
            bottom, end = read_braces(lexer.text, end, lexer.line)
        over, under = (top, bottom) if bottom else ("", top)
        lexer.lex_inner(rf"\frac{{{sign}{power} {over}}}{{{sign} {under}{power}}}")
        return end

    return emit


def _transpose(lexer: TokenStream, name: str, end: int) -> int:
    r"""`X\T` after what is transposed; else a letter."""
    ends = ("NAME", "RPAR", "RBRACK", "RBRACE", "ENDMAT")
    behind = bool(lexer.out) and lexer.out[-1].kind in ends
    lexer.emit("TRANS" if behind else "NAME", "" if behind else f"\\{name}")
    return end


def _nothing(lexer: TokenStream, name: str, end: int) -> int:
    return end


USUAL_MACROS: Mapping[str, Handler] = {
    "norm": _bars("NORM"),
    "abs": _bars("BAR"),
    "argmin": _argument_of("argmin"),
    **{letter * count: make_token("NAME", rf"\mathbb{{{letter}}}") for letter in "RNZ" for count in (1, 2)},
    **dict.fromkeys(("EE", "Exp", "Ex", "expect"), make_token("FUNC", "E")),
    **dict.fromkeys(("PP", "Prob", "prob"), make_token("FUNC", "Pr")),
    **dict.fromkeys(("rank", "Rank", "rk"), make_token("FUNC", "rank")),
    **dict.fromkeys(("dv", "odv"), _slope("d")),
    "pdv": _slope(r"\partial"),
    **dict.fromkeys(("vb", "vu", "va"), _written_as(1, r"\mathbf#1")),
    **dict.fromkeys(("inner", "innerprod", "ip"), _written_as(2, r"\langle #1, #2 \rangle")),
    "braket": _braket,
    "set": _written_as(1, r"\{#1\}", braced=False),
    "half": _written_as(0, r"\frac{1}{2}"),
    "inv": _written_as(0, "^{-1}"),
    "given": _written_as(0, r"\mid "),
    **dict.fromkeys(("dd", "dif", "d"), make_token("NAME", "d")),
    **dict.fromkeys(("T", "tran", "trans", "transp", "transpose"), _transpose),
    **dict.fromkeys(("qty", "mathstrut", "strut", "relax"), _nothing),
}
"""What each of these commands becomes."""
