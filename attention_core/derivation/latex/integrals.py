r"""Integrals among tokens: brackets are put around each and around its body.

`\int_0^1 f(x) \, dx` has no brackets: its body ends at the differential. The grammar reads
`{\int_0^1 (f(x), x)}`, an operator with what is integrated and by what.
"""

from __future__ import annotations

from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.latex.tokens import Tok

_OPEN = frozenset({"LPAR", "LBRACK", "LBRACE", "LBAR", "LNORM", "LSET", "BEGINMAT"})
_CLOSE = frozenset({"RPAR", "RBRACK", "RBRACE", "RBAR", "RNORM", "RSET", "ENDMAT"})


def enclose_integrals(tokens: list[Tok]) -> list[Tok]:
    """Put brackets around every integral and around its body.

    Args:
        tokens: The tokens of one formula.

    Returns:
        The tokens with the brackets; what is inside stays in its order.

    Raises:
        Unreadable: An integral has no differential such as `dx`.
    """
    tokens = list(tokens)
    starts = [k for k, t in enumerate(tokens) if (t.kind, t.value) == ("BIGOP", "int")]
    for count, start in enumerate(reversed(starts)):
        head = start + 1
        while head < len(tokens) and tokens[head].kind in ("UNDER", "CARET"):
            head = _end_of_script(tokens, head + 1)
        first = _differential(tokens, head)
        end = _end_of_variable(tokens, first)
        if count == len(starts) - 1:  # the outermost takes all that stand after it
            while (more := _skip_gaps(tokens, end)) is not None:
                end = _end_of_variable(tokens, more)
        mark = tokens[start]
        body = [t for t in tokens[head:first] if t.kind != "GAP"] or [Tok("NUM", "1", mark.line, mark.start)]
        variables = _variables(tokens[first:end])
        tokens[start:end] = [
            Tok("LBRACE", "{", mark.line, mark.start),
            *tokens[start:head],
            Tok("LPAR", "(", mark.line, mark.start),
            *body,
            *variables,
            Tok("RPAR", ")", tokens[end - 1].line, tokens[end - 1].start),
            Tok("RBRACE", "}", tokens[end - 1].line, tokens[end - 1].start),
        ]
    return tokens


def _end_of_script(tokens: list[Tok], at: int) -> int:
    """Where a subscript or an exponent ends that starts at a place."""
    depth = 0
    while at < len(tokens):
        depth += (tokens[at].kind in _OPEN) - (tokens[at].kind in _CLOSE)
        at += 1
        if depth <= 0:
            break
    return at


def _differential(tokens: list[Tok], at: int) -> int:
    """The place of the first d after a place that stands in no bracket, in front of a letter."""
    depth, start = 0, at
    while at + 1 < len(tokens) and depth >= 0:
        kind = tokens[at].kind
        if depth == 0 and _is_differential(tokens, at):
            return at
        if depth == 0 and kind in ("REL", "ARROW", "NEWROW", "AMP"):
            break
        depth += (kind in _OPEN) - (kind in _CLOSE)
        at += 1
    line = tokens[min(start, len(tokens) - 1)].line
    raise Unreadable(r"an integral ends with its differential: write \int f(x) \, dx", line)


def _is_differential(tokens: list[Tok], at: int) -> bool:
    named = [(t.kind, t.value) for t in tokens[at : at + 2]]
    behind_script = at > 0 and tokens[at - 1].kind in ("UNDER", "CARET")
    return len(named) == 2 and named[0] == ("NAME", "d") and named[1][0] == "NAME" and not behind_script


def _skip_gaps(tokens: list[Tok], at: int) -> int | None:
    """The place of a further differential right after a place."""
    while at < len(tokens) and tokens[at].kind == "GAP":
        at += 1
    return at if _is_differential(tokens, at) else None


def _end_of_variable(tokens: list[Tok], at: int) -> int:
    """Where a differential ends, with the subscripts of its variable."""
    at += 2
    while at < len(tokens) and tokens[at].kind in ("UNDER", "CARET"):
        at = _end_of_script(tokens, at + 1)
    return at


def _variables(tokens: list[Tok]) -> list[Tok]:
    """The variables of some differentials, each after a comma."""
    out: list[Tok] = []
    for place, token in enumerate(tokens):
        if _is_differential(tokens, place):
            out.append(Tok("COMMA", ",", token.line, token.start))
        elif token.kind != "GAP":
            out.append(token)
    return out
