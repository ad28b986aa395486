r"""Commands that say how a formula looks: colours, braces above and below, gaps, marks at the end of a proof.

What they hold is read as if they were not there. A label of a brace is a remark, so one with a relation is refused:
nothing that may be a claim is passed over.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attention_core.derivation.latex.commands import HANDLERS, Handler, read_braces
from attention_core.derivation.latex.syntax import Unreadable

if TYPE_CHECKING:
    from attention_core.derivation.latex.lexer import Lexer

_END = re.compile(r"\s*[.,;]?\s*(?:$|\\\\|\\end|\\tag|\})")
_LABEL = re.compile(r"\s*[_^]\s*")
_RELATION = re.compile(r"[=<>]|\\(?:le|ge|ne|leq|geq|neq|approx|equiv|to|in|sim|propto)(?![a-zA-Z])")
_SKIPPED = ("color", "phantom", "hphantom", "vphantom")
_KEPT = ("cancel", "bcancel", "xcancel", "mathop", "mathrel", "mathbin", "mathord", "ensuremath")
_SWITCHES = (
    "scriptstyle", "scriptscriptstyle", "small", "large", "Large", "normalsize", "footnotesize", "tiny", "space",
    "allowbreak", "nobreak", "bf", "it", "centering", "displaylimits",
)  # fmt: skip


def _skip(lexer: Lexer, name: str, end: int) -> int:
    """A command whose argument is not part of the formula."""
    return read_braces(lexer.text, end, lexer.line)[1]


def _keep(lexer: Lexer, name: str, end: int) -> int:
    """A command that is its argument."""
    inner, after = read_braces(lexer.text, end, lexer.line)
    lexer.lex_inner(inner)
    return after


def _keep_second(lexer: Lexer, name: str, end: int) -> int:
    r"""`\textcolor{red}{x}`, and `\colorbox{red}{$x$}` with words around its formulas."""
    after = read_braces(lexer.text, end, lexer.line)[1]
    inner, after = read_braces(lexer.text, after, lexer.line)
    if name == "textcolor":
        lexer.lex_inner(inner)
        return after
    parts = re.split(r"(?<!\\)\$", inner)
    if len(parts) % 2 == 0:
        raise Unreadable(f"a $ inside \\{name} is never closed", lexer.line)
    for place, part in enumerate(parts):
        if place % 2:
            lexer.lex_inner(part.removeprefix(r"\displaystyle"))
        elif part.strip():
            lexer.emit("TEXT", part.strip())
    return after


def _read_brace(lexer: Lexer, name: str, end: int) -> int:
    r"""`\underbrace{x}_{\text{label}}`: x."""
    inner, after = read_braces(lexer.text, end, lexer.line)
    lexer.open("LBRACE", "{")
    lexer.lex_inner(inner)
    lexer.close("RBRACE", "}", ("LBRACE",))
    found = _LABEL.match(lexer.text, after)
    if not found:
        return after
    label, after = read_braces(lexer.text, found.end(), lexer.line)
    if _RELATION.search(label):
        raise Unreadable(
            f"the label of \\{name} holds a relation, '{label.strip()}': give it a row of its own", lexer.line
        )
    return after


def _gap(lexer: Lexer, name: str, end: int) -> int:
    lexer.emit("GAP", r"\quad")
    return read_braces(lexer.text, end, lexer.line)[1]


def _nothing(lexer: Lexer, name: str, end: int) -> int:
    return end


def _word(word: str) -> Handler:
    def emit(lexer: Lexer, name: str, end: int) -> int:
        lexer.emit("TEXT", word)
        return end

    return emit


def _end_mark(lexer: Lexer, name: str, end: int) -> int:
    r"""`\square` at the end of a row."""
    if not _END.match(lexer.text, end):
        raise Unreadable(f"\\{name} is understood at the end of a row only", lexer.line)
    return end


def _words_between(lexer: Lexer, name: str, end: int) -> int:
    r"""`\intertext{words}`: a row of words."""
    inner, after = read_braces(lexer.text, end, lexer.line)
    lexer.emit("TEXT", inner.strip())
    lexer.emit("NEWROW")
    return after


HANDLERS.update(
    {
        **dict.fromkeys(_SKIPPED, _skip),
        **dict.fromkeys(_KEPT, _keep),
        **dict.fromkeys(("textcolor", "colorbox"), _keep_second),
        **dict.fromkeys(("underbrace", "overbrace"), _read_brace),
        **dict.fromkeys(("hspace", "vspace", "hskip"), _gap),
        **dict.fromkeys(_SWITCHES, _nothing),
        **dict.fromkeys(("square", "blacksquare", "qed", "Box"), _end_mark),
        **dict.fromkeys(("intertext", "shortintertext"), _words_between),
        "therefore": _word("therefore"),
        "because": _word("since"),
    }
)
