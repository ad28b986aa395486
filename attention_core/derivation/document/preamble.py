r"""What a complete TeX file says outside of its body.

Nothing, as a rule: packages, sizes of pages, what makes the title. A title and whatever may change how formulas are
read stay, and every line stays where it was.
"""

from __future__ import annotations

import re

_BODY = re.compile(r"^[^%\n]*?\\begin\{document\}", re.MULTILINE)
_END = re.compile(r"^[^%\n]*?(\\end\{document\})", re.MULTILINE)
_COMMENT = re.compile(r"(?<!\\)%[^\n]*")
_GROUP = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
_TITLE = rf"\\title\s*(?:\[[^\]]*\])?{_GROUP}"
# A macro may give a sign another meaning, and a file that is read in may say anything.
_DEFINES = (
    r"\\(?:(?:re|provide)?newcommand|providecommand|[egx]?def|let|(?:New|Renew|Provide|Declare)Document\w+|"
    r"DeclareMathOperator|DeclarePairedDelimiter\w*|input|include|subtitle|thanks)(?![a-zA-Z])[^\n]*"
)
_KEPT = re.compile(rf"{_TITLE}|{_DEFINES}")
_NAMES_ITSELF = re.compile(r"\\DeclareMathOperator\*?\s*\{?\\([a-zA-Z]+)\}?\s*\{\1\}\s*$")
_FURNITURE = re.compile(r"\\(?:maketitle|tableofcontents|begin\{document\}|newpage|clearpage|centering)(?![a-zA-Z])")


def without_preamble(text: str) -> str:
    r"""The body of a TeX file, with the title and the definitions above it; text without a body as it is.

    Example:
        >>> without_preamble("\\documentclass{article}\\title{Keys}\n\\begin{document}\nLet $x > 0$.\n\\end{document}")
        '\\title{Keys}\n\nLet $x > 0$.\n'
    """
    found = _BODY.search(text)
    if found is None:
        return text
    before = _COMMENT.sub("", text[: found.end()])
    kept, at = [], 0
    for one in _KEPT.finditer(before):
        words = "" if _NAMES_ITSELF.match(one.group()) else one.group()
        kept += [_newlines(before[at : one.start()]), words]
        at = one.end()
    body = text[found.end() :]
    end = _END.search(body)
    body = body if end is None else body[: end.start(1)]
    return "".join(kept) + _newlines(before[at:]) + _FURNITURE.sub("", body)


def _newlines(text: str) -> str:
    """The line breaks of a text, so that what follows keeps its line."""
    return "\n" * text.count("\n")
