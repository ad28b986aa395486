r"""Symbols that are typed as plain letters in sentences: "Let P be a permutation matrix", "B is d x r", "y one hot".

A letter is marked as a formula where its sentence says something of it in a fixed form; any other letter stays a word,
and so does one that no formula of the document has ("where J is the Jacobian").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from attention_core.derivation.document.blocks import Block, Display, Paragraph

_LETTER = r"(?:(?![aI](?![\w_]))[A-Za-z](?:_(?:[A-Za-z]{1,6}|\d))?(?![\w'\u2019-]))"
_GROUP = rf"{_LETTER}(?:(?:\s*,\s*|\s*,?\s+and\s+){_LETTER})*"
_STARTS = (
    r"(?:(?<=[.:;(]\s)|(?<![^\n])|(?<=\b[Ll]et )|(?<=\b[Ww]here )|(?<=\band )|(?<=\b[Ww]ith )|(?<=\b[Ii]f )|"
    r"(?<=\bthat ))"
)
_SIDE = r"(?:[A-Za-z](?![A-Za-z])|\d+)"
_SIZED = re.compile(
    rf"(?<![\w$\\])(?P<name>{_LETTER})\s+(?:is|be|has (?:size|shape))\s+(?:an?\s+)?\(?(?P<rows>{_SIDE})"
    rf"\s*(?:x|\u00d7|by)\s*(?P<cols>{_SIDE})\)?(?![\w$])"
)
_SAYS = re.compile(rf"{_STARTS}(?P<group>{_GROUP})(?=\s+(?:be|is|are|has|have|denotes?)\b)")
_ADJECTIVE = re.compile(
    rf"{_STARTS}(?!A\s+[a-z-]+\s*(?:$|matri|vector|real|square|positive|negative|project|bas[ie]s|operator))"
    rf"(?P<group>{_LETTER})\s+(?=(?:one[ -]hot|orthonormal|orthogonal|symmetric|invertible|diagonal)\b)"
)


def mark_letters(blocks: Sequence[Block]) -> list[Block]:
    r"""Mark the letters of which sentences say something as formulas.

    Args:
        blocks: The blocks of a document.

    Example:
        >>> mark_letters([Paragraph(1, "Let P be a permutation matrix and B is d x r.")])[0].text
        'Let $P$ be a permutation matrix and $B \\in \\mathbb{R}^{d \\times r}$.'
    """
    texts = [one.text for one in blocks if isinstance(one, Display)]
    texts += [f for one in blocks if isinstance(one, Paragraph) and "$" in one.text for f in _INLINE.findall(one.text)]
    used = frozenset(one for text in texts for one in _LETTERS.findall(text)) if texts else None
    return [replace(one, text=_mark(one.text, used)) if isinstance(one, Paragraph) else one for one in blocks]


_INLINE = re.compile(r"(?<![\\$])\$((?:[^$\\]|\\.)+)\$(?!\$)")
_LETTERS = re.compile(r"\\[A-Za-z]+|[A-Za-z]")


def _mark(text: str, used: frozenset[str] | None) -> str:
    parts = re.split(r"(?<!\\)(\$+)", text)
    out, inside = [], False
    for part in parts:
        if part.startswith("$"):
            inside = not inside
            out.append(part)
        else:
            out.append(part if inside else _mark_prose(part, used))
    return "".join(out)


def _mark_prose(text: str, used: frozenset[str] | None) -> str:
    def mark(found: re.Match[str]) -> str:
        group = _keep_and(found[0])
        declared = found.re is not _SAYS or found.string[: found.start()].lower().endswith("let ")
        if used is not None and not declared and not any(letter[0] in used for letter in re.findall(_LETTER, group)):
            return found[0]  # no formula has it
        return re.sub(_LETTER, r"$\g<0>$", group).replace("\2", "and")

    text = _SIZED.sub(
        lambda found: rf"${found['name']} \in \mathbb{{R}}^{{{found['rows']} \times {found['cols']}}}$", text
    )
    for pattern in (_SAYS, _ADJECTIVE):
        text = pattern.sub(mark, text)
    return text


def _keep_and(text: str) -> str:
    """The word between letters as a sign, so that none of its own is marked."""
    return re.sub(r"\band\b", "\2", text)
