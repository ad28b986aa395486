r"""Laws with a mark that says how what is drawn depends: `X_1, \dots, X_n \overset{iid}{\sim} \mathcal{N}(0, 1)`.

They become the law and the word for it, `$X_1, \dots, X_n \sim \mathcal{N}(0, 1)$ independent`, before a paragraph is
read. Another mark over the sign is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from attention_core.derivation.document.blocks import Block, Paragraph

_FORMULA = re.compile(r"(?<![\\$])\$(?P<inside>[^$]+)\$(?!\$)")
_MARK = re.compile(
    r"\\(?:overset|stackrel)\s*\{(?P<over>(?:[^{}]|\{[^{}]*\})*)\}\s*(?:\{\s*\\sim\s*\}|\\sim(?![A-Za-z]))|"
    r"\\sim\s*[_^]\s*\{(?P<beside>(?:[^{}]|\{[^{}]*\})*)\}|\\(?:iidsim|simiid)(?![A-Za-z])"
)
_STYLE = re.compile(
    r"\\(?:text|textrm|textnormal|mathrm|rm|mathit|scriptsize|tiny|small|mbox)(?![A-Za-z])|\\[,;:! ]|[{}~.\s]"
)
_FREE = frozenset(["iid", "ind", "indep", "independent", "independently"])


def spell_marks(blocks: Sequence[Block]) -> list[Block]:
    r"""Write the marks over the sign of a law as words behind it.

    Args:
        blocks: The blocks of a document.

    Example:
        >>> spell_marks([Paragraph(1, r"Let $X_1, X_2 \stackrel{\text{i.i.d.}}{\sim} P$ and $n = 2$.")])[0].text
        'Let $X_1, X_2 \\sim P$ independent and $n = 2$.'
    """
    return [
        replace(block, text=_FORMULA.sub(_write, block.text))
        if isinstance(block, Paragraph) and _MARK.search(block.text)
        else block
        for block in blocks
    ]


def _write(found: re.Match[str]) -> str:
    marks = list(_MARK.finditer(found["inside"]))
    if len(marks) != 1 or not _says_free(marks[0]):
        return found[0]
    one, text = marks[0], found["inside"]
    lines = "\n" * one[0].count("\n")
    opens = "" if found.string[: found.start()].strip() else "Let "  # a sentence of a law alone declares as well
    return f"{opens}${text[: one.start()]}\\sim {text[one.end() :].lstrip()}$ independent{lines}"


def _says_free(mark: re.Match[str]) -> bool:
    """Whether a mark says that what is drawn is independent."""
    words = mark["over"] if mark["over"] is not None else mark["beside"]
    return words is None or _STYLE.sub("", words).lower() in _FREE


__all__ = ["spell_marks"]
