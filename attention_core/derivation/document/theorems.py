r"""Paragraphs of TeX cut at the marks of theorems and the like, and their footnotes.

`\begin{theorem}` in front of "Let ..." says nothing of what is declared, so the marks of environments that only frame
prose are left out. What stands in their brackets, as in `\begin{theorem}[Symmetric case]`, and what stands in a
footnote are words of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attention_core.derivation.document.blocks import Paragraph

_NAMES = (
    "theorem|thm|lemma|lem|proposition|prop|corollary|cor|claim|fact|observation|conjecture|hypothesis|hypotheses|"
    "assumptions?|asm|conditions?|settings?|definitions?|defn?|notations?|conventions?|remarks?|rem|notes?|examples?|ex|"
    "exercises?|problems?|questions?|solutions?|answers?|proof|abstract|quote|quotation|center|itemize|enumerate|"
    "description|document"
)
_MARK = re.compile(
    rf"\\begin\{{(?:{_NAMES})\*?\}}[ \t]*(?:\[(?P<words>[^\[\]]*)\])?(?:[ \t]*\\label\{{[^{{}}]*\}})?|"
    rf"\\end\{{(?:{_NAMES})\*?\}}"
)
_FOOTNOTE = re.compile(r"\\footnote\s*(?:\[\d*\])?\s*\{(?P<words>(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
_DECLARES = re.compile(r"^\s*(?:Let|Given|Assume|Suppose|Draw|Define|Put)\b")


def parts_of(paragraph: Paragraph, behind: bool = False) -> list[Paragraph]:
    r"""The paragraphs that a paragraph holds: what stands between the marks of environments, and footnotes.

    A footnote of a declaration comes first, as its words concern what follows.

    Args:
        paragraph: The paragraph as it stands between blank lines, headings and displays.
        behind: Whether a display stands right above it: then a footnote stays where it is.

    Example:
        >>> [one.text for one in parts_of(Paragraph(1, "\\begin{lemma}[Ties] Let $x > 0$.\\footnote{Real.}"))]
        ['Ties', 'Real.', 'Let $x > 0$.']
    """
    out: list[Paragraph] = []
    for one in _between_marks(paragraph):
        bare = _FOOTNOTE.sub(lambda note: "\n" * note.group().count("\n"), one.text)
        if (behind and not out) or not _DECLARES.match(bare):
            out.append(one)
            continue
        for note in _FOOTNOTE.finditer(one.text):
            out.append(Paragraph(one.line + one.text.count("\n", 0, note.start()), note.group("words")))
        out.append(Paragraph(one.line, bare))
    return out


def _between_marks(paragraph: Paragraph) -> Iterator[Paragraph]:
    text, at = paragraph.text, 0
    pieces: list[tuple[int, str]] = []
    for mark in _MARK.finditer(text):
        pieces.append((at, text[at : mark.start()]))
        if mark.group("words"):
            pieces.append((mark.start("words"), mark.group("words")))
        at = mark.end()
    pieces.append((at, text[at:]))
    for start, piece in pieces:
        blank = len(piece) - len(piece.lstrip())
        if piece.strip():
            yield Paragraph(paragraph.line + text.count("\n", 0, start + blank), piece.strip() if at else piece)
