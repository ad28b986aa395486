r"""The imaginary unit, where a document says what its square is: "Let $i^2 = -1$", "with $j = \sqrt{-1}$".

No real number has this square, so the letter is not a number that a hypothesis restricts. A letter that the document
declares as a real number stays one, and only the usual letters are read so: another may be a matrix.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from attention_core.derivation.document.blocks import Block, Paragraph
from attention_core.derivation.latex.syntax import Chain, Expr, Group, Minus, Name, Num, Root, Sup
from attention_core.derivation.terms.context import Context

UNITS = frozenset(["i", "j", r"\imath", r"\jmath", r"\iota"])
_ONE, _TWO = Num(Fraction(1)), Num(Fraction(2))
_NAME = r"(?P<letter>i|j|\\imath|\\jmath|\\mathrm\s*\{\s*[ij]\s*\}|\\mathrm\s+[ij])"
_LETTER = rf"\$\s*{_NAME}\s*\$"
_SQUARE = r"(?:(?P=letter)\s*\^\s*(?:2|\{2\})\s*:?=\s*-\s*1|(?P=letter)\s*:?=\s*\\sqrt\s*\{\s*-\s*1\s*\})"
_SPELLED = re.compile(
    rf"(?P<lead>\b(?:let|where|with|and)\s+){_LETTER}\s+(?:be|is|denotes?|denote|being)\s+(?:the\s+|an?\s+|some\s+)?"
    r"(?:(?P<named>(?:usual\s+)?(?:imaginary|complex)\s+unit)|(?:complex\s+)?(?:number|constant|quantity|symbol|unit))"
    rf"(?P<square>\s*,?\s*(?:so\s+that|such\s+that|with|satisfying|that\s+satisfies|i\.\s?e\.|that\s+is|for\s+which|"
    rf"where)?,?\s*\$\s*{_SQUARE}\s*\$)?",
    re.IGNORECASE,
)
_AND_DEFINES = re.compile(
    rf"(?P<unit>\blet\s+\$\s*(?={_NAME}){_SQUARE}\s*\$)"
    r"\s*(?:,?\s*\band\s+(?:let\s+)?|\.\s*(?:let|put|set|define|write)\s+)(?=\$\s*(?:[A-Za-z]|\\[a-z]+)\s*:?=)",
    re.IGNORECASE,
)
"""A unit, and a number that is defined by it."""


def spell_unit(blocks: Sequence[Block]) -> list[Block]:
    """Write what a paragraph calls the imaginary unit, or a number with the square -1, as this square.

    Args:
        blocks: The blocks of a document.

    Example:
        >>> spell_unit([Paragraph(1, "Let $i$ be the imaginary unit and $x \\\\in \\\\mathbb{R}$.")])[0].text
        'Let $i^2 = -1$ and $x \\\\in \\\\mathbb{R}$.'
    """
    return [
        one
        for block in blocks
        for one in (
            _divide(replace(block, text=_SPELLED.sub(_write, block.text))) if isinstance(block, Paragraph) else [block]
        )
    ]


def _divide(block: Paragraph) -> list[Paragraph]:
    """A paragraph that defines a number by the unit as two paragraphs: the unit comes first."""
    found = _AND_DEFINES.search(block.text)
    if found is None:
        return [block]
    above, behind = block.text[: found.end("unit")] + ".", block.text[found.end() :]
    line = block.line + block.text[: found.end()].count("\n")
    return [replace(block, text=above), replace(block, line=line, text=f"Let {behind}")]


def _write(found: re.Match[str]) -> str:
    if not found["named"] and not found["square"]:
        return found[0]
    return f"{found['lead']}${found['letter']}^2 = -1$" + "\n" * found[0].count("\n")


def take_unit(context: Context, chain: Chain, line: int) -> bool:
    """Declare the imaginary unit, where a relation says what its square is; False for any other relation.

    Args:
        context: What is declared; it is changed.
        chain: The relation.
        line: Its line.
    """
    if chain.ops not in (("=",), (":=",)):
        return False
    left, right = map(_unwrap, chain.exprs)
    squared = isinstance(left, Sup) and left.exponent == _TWO and right == Minus(_ONE)
    base = left.base if squared and isinstance(left, Sup) else left
    if not isinstance(base, Name) or base.text not in UNITS or not (squared or right == Root(Minus(_ONE))):
        return False
    if base.text in context.symbols and base.text not in context.inferred:
        return False
    if base.text in context.symbols:
        context.forget(base.text, line)
        context.dropped.pop(base.text, None)
        context.inferred.pop(base.text, None)
    context.imaginary, context.unit = context.level, base.text
    context.understood.append((line, f"{base.text}: the imaginary unit"))
    return True


def find_unit_as_number(context: Context, names: Iterable[str]) -> str:
    """Why a step that holds the imaginary unit as a real number says nothing, '' for one that does not.

    Args:
        context: What is declared and inferred.
        names: The undeclared symbols of the step.
    """
    if context.imaginary is None or context.unit not in names:
        return ""
    symbol = context.symbols.get(context.unit)
    if symbol is None or symbol.kind != "array":
        return ""
    return f"${context.unit}$ is the imaginary unit, and this formula has no real and imaginary part that is known here"


def _unwrap(expr: Expr) -> Expr:
    """An expression without brackets around all of it."""
    while isinstance(expr, Group) and expr.bracket == "(" and len(expr.items) == 1 and expr.items[0].alone:
        expr = expr.items[0].exprs[0]
    return expr


__all__ = ["find_unit_as_number", "spell_unit", "take_unit"]
